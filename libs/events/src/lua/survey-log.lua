--- Says when retention has something to remove from the log.
-- @key log             Stream of the account's events.
-- @arg max_age         Age up to which events are kept, in ms.
-- @arg max_count       Number of events that are kept.
-- @reply               In how many ms the first event may be removed, or '' for an empty log.
--- @include "@platform/redis/lua/includes/now.lua"

local first = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
if not first then return '' end
if redis.call('XLEN', log) > tonumber(max_count) then return '0' end
return whole(math.max(tonumber(string.match(first[1], '^%d+')) + max_age - now_ms(), 0))
