--- Finds out when retention can next remove an event from the log.
-- @key log         Stream of the account's events.
-- @arg max_age     Maximum age of events, in ms.
-- @arg max_count   Maximum number of events.
-- @reply           Time until the first event can be removed in ms, or '' for an empty log.
--- @include "@platform/redis/lua/includes/now.lua"
--- @include "includes/recorded-at.lua"

local first = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
if not first then return '' end
if redis.call('XLEN', log) > tonumber(max_count) then return '0' end
return whole(math.max(recorded_at(first) + max_age - now_ms(), 0))
