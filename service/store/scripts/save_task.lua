-- Replace a task's document unless it was cancelled or is gone.
--
-- KEYS  task
-- ARGV  1 document   2 its status   3 seconds to live
-- Returns 1 when it was replaced, else 0.

local status = redis.call('HGET', KEYS[1], 's')
if not status or status == 'cancelled' then
  return 0
end
redis.call('HSET', KEYS[1], 'd', ARGV[1], 's', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
