--- Returns the time until a process may probe upstream.
-- @key upstream    Hash of the outage, if there is one.
-- @reply           Time in ms; '0' if an outage has just ended; '' without an outage.
--- @include "@platform/redis/lua/includes/now.lua"

local state = redis.call('HMGET', upstream, 'unavailableSince', 'probeAt', 'recoveredAt')
if state[1] then return whole(math.max((state[2] or 0) - now_ms(), 0)) end
return state[3] and '0' or ''
