--- Stores a session. Ends the sessions that it replaces, and the longest unused sessions above the maximum number.
-- @key session         Hash of the session. It expires when the session ends unless it is used.
-- @key own_sessions    Sorted set of the ids of the API key's sessions, by the time of the last use plus the idle time.
-- @key revocations     Stream of the recent revocations.
-- @arg id              The session's id.
-- @arg record          The session as JSON.
-- @arg key_id          Id of the API key.
-- @arg session_prefix  Prefix of the keys of sessions' hashes, in the same hash slot.
-- @arg idle_ms         Time after which the session ends unless it is used, in ms.
-- @arg lifetime_ms     Maximum lifetime in ms.
-- @arg latest_end      Time after which the session must not be valid, in ms, or ''.
-- @arg max_sessions    Maximum number of sessions of the API key.
-- @args replaced       Ids of sessions of the same API key that end now.
-- @reply               An array.
-- @field ends_at       When the session ends in any case, in ms.
-- @field idle_ends_at  When the session ends unless it is used, in ms.
--- @include "@platform/redis/lua/includes/now.lua"
--- @include "includes/end-session.lua"

local now = now_ms()
local ends = now + tonumber(lifetime_ms)
if latest_end ~= '' then ends = math.min(ends, tonumber(latest_end)) end
local used_until = now + tonumber(idle_ms)
local idle_ends = math.min(used_until, ends)
-- The first write must fail while Redis is full, so that the script then writes nothing.
redis.call('HSET', session, 'session', record, 'keyId', key_id, 'endsAt', whole(ends))
redis.call('PEXPIREAT', session, whole(idle_ends))
for i = replaced_from, #ARGV do end_session(session_prefix .. ARGV[i], own_sessions, revocations, ARGV[i]) end
for _, old in ipairs(redis.call('ZRANGE', own_sessions, 0, -1)) do
  if redis.call('PEXPIRETIME', session_prefix .. old) <= now then redis.call('ZREM', own_sessions, old) end
end
local surplus = redis.call('ZCARD', own_sessions) + 1 - tonumber(max_sessions)
if surplus > 0 then
  for _, old in ipairs(redis.call('ZRANGE', own_sessions, 0, surplus - 1)) do
    end_session(session_prefix .. old, own_sessions, revocations, old)
  end
end
-- The score is not `idle_ends`, because all sessions of an API key that expires soon have the same `idle_ends`.
redis.call('ZADD', own_sessions, whole(used_until), id)
-- The newest session of an API key is the last to end.
redis.call('PEXPIREAT', own_sessions, whole(ends))
return {ends, idle_ends}
