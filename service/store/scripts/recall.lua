-- Note for a moment all that is noted for later: the clock was put back.
--
-- KEYS  a list of games or places by time
-- ARGV  1 seconds since 1970
-- Returns how many were moved.

local later = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf')
for _, member in ipairs(later) do
  redis.call('ZADD', KEYS[1], ARGV[1], member)
end
return #later
