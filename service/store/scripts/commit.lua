-- One accepted change of a game: all of it or nothing.
--
-- KEYS  state, log, and for a request with a key the answer's key
-- ARGV  1 new version (0 creates the game)   2 state   3 seconds to live
--       4 log entry, or empty   5 id of this commit
--       6 fingerprint   7 answer's body   8 the answer's seconds to live   (with a third key only)
-- Returns {'done'}, {'stale'} or {'answered', fingerprint, body}.
--
-- Versions are compared as texts: Lua's numbers are floats. The id of the commit makes a repetition
-- after a lost connection harmless: what it finds done by itself it reports as done.

local state_key, log_key, answer_key = KEYS[1], KEYS[2], KEYS[3]
local version, commit_id = ARGV[1], ARGV[5]

local function is_own_repetition()
  if version == '0' then
    return redis.call('HGET', state_key, 'c') == commit_id
  end
  local found = redis.call('XRANGE', log_key, version .. '-0', version .. '-0')
  return found[1] ~= nil and found[1][2][4] == commit_id
end

local stored = redis.call('HGET', state_key, 'v')
local is_next
if version == '0' then
  is_next = not stored
else
  is_next = stored == string.format('%d', tonumber(version) - 1)
end

if not is_next and is_own_repetition() then
  return {'done'}
end
if answer_key then
  local answer = redis.call('HMGET', answer_key, 'f', 'b')
  if answer[1] then
    return {'answered', answer[1], answer[2]}
  end
end
if not is_next then
  return {'stale'}
end

-- The log comes first: it is the only write that could be refused, and nothing is written then.
if version == '0' then
  redis.call('DEL', log_key)
  redis.call('HSET', state_key, 'c', commit_id)
end
if ARGV[4] ~= '' then
  redis.call('XADD', log_key, version .. '-0', 'e', ARGV[4], 'c', commit_id)
  redis.call('PUBLISH', log_key, version .. ' ' .. ARGV[4])
end
redis.call('HSET', state_key, 'v', version, 's', ARGV[2])
redis.call('EXPIRE', state_key, ARGV[3])
redis.call('EXPIRE', log_key, ARGV[3])
if answer_key then
  redis.call('HSET', answer_key, 'f', ARGV[6], 'b', ARGV[7])
  redis.call('EXPIRE', answer_key, ARGV[8])
end
return {'done'}
