-- One accepted change of a game: all of it or nothing.
--
-- KEYS  state, log, and for a request with a key the answer's key
-- ARGV  1 new version (0 creates the game)   2 state   3 seconds to live
--       4 id of this commit   5 log entry, or empty   6 the same as it is published
--       7 fingerprint   8 answer's body   9 the answer's seconds to live   (with a third key only)
-- Returns {'done'}, {'stale'} or {'answered', fingerprint, body}.
--
-- Versions are compared as texts: Lua's numbers are floats. The id of the commit makes a repetition
-- after a lost connection harmless: what it finds done by itself it reports as done.

local state_key, log_key, answer_key = KEYS[1], KEYS[2], KEYS[3]
local version, commit_id = ARGV[1], ARGV[4]

local function is_stream(key)
  return redis.call('TYPE', key).ok == 'stream'
end

local function is_own_repetition()
  if version == '0' then
    return redis.call('HGET', state_key, 'c') == commit_id
  end
  if is_stream(log_key) then
    return false
  end
  local found = redis.call('LINDEX', log_key, tonumber(version) - 1)
  return found and string.sub(found, 1, #commit_id) == commit_id
end

local stored = redis.call('HGET', state_key, 'v')
local is_next
if version == '0' then
  is_next = not stored
else
  is_next = stored == string.format('%d', tonumber(version) - 1)
end

if not is_next and is_own_repetition() then
  -- WAIT waits for what its own connection has written, and the first one is broken.
  redis.call('EXPIRE', state_key, ARGV[3])
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

-- With states of format 1 the log was a stream of larger entries; the first change makes it a list.
local function make_list_of_stream()
  local kept = redis.call('XRANGE', log_key, '-', '+')
  redis.call('DEL', log_key)
  for _, item in ipairs(kept) do
    redis.call('RPUSH', log_key, string.sub(item[2][4], 1, #commit_id) .. item[2][2])
  end
end

if version == '0' then
  redis.call('DEL', log_key)
  redis.call('HSET', state_key, 'c', commit_id)
elseif is_stream(log_key) then
  make_list_of_stream()
end
if ARGV[5] ~= '' then
  -- The place of an entry is its version.
  if redis.call('LLEN', log_key) ~= tonumber(version) - 1 then
    return redis.error_reply('ERR the log of ' .. state_key .. ' is not as long as its version')
  end
  redis.call('RPUSH', log_key, commit_id .. ARGV[5])
  redis.call('PUBLISH', log_key, version .. ' ' .. ARGV[6])
end
redis.call('HSET', state_key, 'v', version, 's', ARGV[2])
redis.call('EXPIRE', state_key, ARGV[3])
redis.call('EXPIRE', log_key, ARGV[3])
if answer_key then
  redis.call('HSET', answer_key, 'f', ARGV[7], 'b', ARGV[8])
  redis.call('EXPIRE', answer_key, ARGV[9])
end
return {'done'}
