-- Take a game off the waiting list unless it was put there later.
--
-- KEYS  waiting list
-- ARGV  1 game id   2 seconds since 1970
-- Returns how many games were taken off.

local marked_at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if marked_at and tonumber(marked_at) <= tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
