-- Cancel a task that is queued or running.
--
-- KEYS  task
-- Returns {document, status}, the status as it then is, or nothing for a task that is gone.

local task = redis.call('HMGET', KEYS[1], 'd', 's')
if not task[2] then
  return false
end
if task[2] == 'queued' or task[2] == 'running' then
  redis.call('HSET', KEYS[1], 's', 'cancelled')
  task[2] = 'cancelled'
end
return task
