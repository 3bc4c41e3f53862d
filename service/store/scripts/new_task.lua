-- Give a task document an id and keep it, once for each idempotency key.
--
-- KEYS  counter, and for a request with a key the answer's key
-- ARGV  1 what the task's key begins with   2 letter of the id   3 document   4 its status
--       5 the task's seconds to live   6 the counter's
--       7 fingerprint   8 the answer's seconds to live   (with a second key only)
-- Returns {'new', id} or {'answered', id, fingerprint, document}.

local counter_key, answer_key = KEYS[1], KEYS[2]

if answer_key then
  local answer = redis.call('HMGET', answer_key, 'i', 'f', 'b')
  if answer[1] then
    return {'answered', answer[1], answer[2], answer[3]}
  end
end

local id = ARGV[2] .. redis.call('INCR', counter_key)
local task_key = ARGV[1] .. id
redis.call('EXPIRE', counter_key, ARGV[6])
redis.call('HSET', task_key, 'd', ARGV[3], 's', ARGV[4])
redis.call('EXPIRE', task_key, ARGV[5])
if answer_key then
  redis.call('HSET', answer_key, 'i', id, 'f', ARGV[7], 'b', ARGV[3])
  redis.call('EXPIRE', answer_key, ARGV[8])
end
return {'new', id}
