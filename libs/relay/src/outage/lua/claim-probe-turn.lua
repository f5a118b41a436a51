--- Decides whether this process probes upstream now.
-- @key upstream    Hash of the outage, if there is one.
-- @arg lease       Time in which no other process probes, in ms.
-- @reply           'probe', 'recovered' if an outage has just ended, or 'nothing'.
--- @include "@platform/redis/lua/includes/now.lua"

local now = now_ms()
local state = redis.call('HMGET', upstream, 'unavailableSince', 'probeAt', 'recoveredAt')
if not state[1] then return state[3] and 'recovered' or 'nothing' end
if tonumber(state[2] or 0) > now then return 'nothing' end
redis.call('HSET', upstream, 'probeAt', whole(now + lease))
return 'probe'
