-- Judge whether a job of RQ is alive and, if asked to, take away one that is not.
--
-- KEYS  job, queue, intermediate queue, time at which the job was first seen there
--       registries: 5 started   6 finished   7 failed   8 canceled
--       9 the job's executions   10 its results   11 its dependents
-- ARGV  1 job id   2 '1' to take it away   3 what an execution's key begins with
--       4 now, seconds since 1970   5 seconds without a sign of life after which a job is dead
--       6 so long ago and   7 so long ahead, as RQ writes it: ISO 8601 in UTC, which sorts as text
-- Returns 1 for a job that waits or runs, 0 for none (any longer).

local job_key, queue_key, intermediate_key, first_seen_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, now = ARGV[1], tonumber(ARGV[4])

local function is_alive()
  local job = redis.call('HMGET', job_key, 'status', 'last_heartbeat')
  local status, heartbeat = job[1], job[2]
  if status == 'started' then
    return heartbeat and heartbeat >= ARGV[6] and heartbeat <= ARGV[7]
  end
  if status == 'queued' then
    if redis.call('LPOS', queue_key, id) then
      return true
    end
    -- A worker has taken it and has not begun; the time since when is kept as RQ keeps it.
    redis.call('SET', first_seen_key, ARGV[4], 'NX', 'EX', 86400)
    return math.abs(now - tonumber(redis.call('GET', first_seen_key))) < tonumber(ARGV[5])
  end
  return status == 'scheduled' or status == 'deferred' or status == 'created'
end

if is_alive() then
  return 1
end
if ARGV[2] == '1' then
  redis.call('LREM', queue_key, 0, id)
  redis.call('LREM', intermediate_key, 0, id)
  for _, execution in ipairs(redis.call('ZRANGE', KEYS[9], 0, -1)) do
    redis.call('ZREM', KEYS[5], id .. ':' .. execution)
    redis.call('DEL', ARGV[3] .. id .. ':' .. execution)
  end
  redis.call('ZREM', KEYS[6], id)
  redis.call('ZREM', KEYS[7], id)
  redis.call('ZREM', KEYS[8], id)
  redis.call('DEL', job_key, first_seen_key, KEYS[9], KEYS[10], KEYS[11])
end
return 0
