--- Reads a session together with its API key and the current time, and postpones its end if a request uses it.
-- @key session         Hash of the session. It expires when the session ends unless it is used.
-- @key api_keys        Hash of the API keys by id, as JSON.
-- @arg id              The session's id.
-- @arg own_prefix      Prefix of the keys of the sorted sets of API keys' session ids, in the same hash slot.
-- @arg idle_ms         Time after which an unused session ends, in ms; '' if no request uses the session now.
-- @arg renew_ms        Minimum time between two postponements of the end, in ms; '' if no request uses it now.
-- @reply               An array, or nil if the session was not found.
-- @field record        The session as JSON.
-- @field ends_at       When the session ends in any case, in ms.
-- @field idle_ends_at  When the session ends unless it is used, in ms.
-- @field api_key       The API key as JSON, or '' if it is not stored.
-- @field now           The time in ms.
--- @include "@platform/redis/lua/includes/now.lua"

local found = redis.call('HMGET', session, 'session', 'keyId', 'endsAt')
if not found[1] then return false end
local now = now_ms()
local ends, idle_ends = tonumber(found[3]), redis.call('PEXPIRETIME', session)
local api_key = redis.call('HGET', api_keys, found[2]) or ''
if idle_ms ~= '' then
  local own_sessions, used_until = own_prefix .. found[2], now + tonumber(idle_ms)
  local renewed = math.min(used_until, ends)
  local last = tonumber(redis.call('ZSCORE', own_sessions, id)) or idle_ends
  -- `pcall`: the session can be read while Redis rejects writes. The first write needs no memory, so that a full Redis
  -- accepts both.
  if used_until - last >= tonumber(renew_ms) and redis.pcall('PEXPIREAT', session, whole(renewed)) == 1 then
    redis.pcall('ZADD', own_sessions, 'XX', whole(used_until), id)
    idle_ends = renewed
  end
end
return {found[1], ends, idle_ends, api_key, now}
