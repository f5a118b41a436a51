--- Says when it may be a process' turn to probe upstream.
-- @key upstream        Hash of the outage, if there is one.
-- @reply               In how many ms; '0' while an outage has just ended; '' without an outage.
--- @include "@platform/redis/lua/includes/now.lua"

local state = redis.call('HMGET', upstream, 'unavailableSince', 'probeAt', 'recoveredAt')
if state[1] then return whole(math.max((state[2] or 0) - now_ms(), 0)) end
return state[3] and '0' or ''
