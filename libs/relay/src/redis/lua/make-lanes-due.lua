--- Makes waiting lanes due now.
-- @key lanes_due   Sorted set of recipients by when their lane is due, in ms.
-- @arg max_count   Maximum number of lanes.
-- @reply           Recipients of these lanes.
--- @include "@platform/redis/lua/includes/now.lua"

local now = whole(now_ms())
local lanes = redis.call('ZRANGEBYSCORE', lanes_due, '(' .. now, '+inf', 'LIMIT', 0, max_count)
for _, recipient in ipairs(lanes) do redis.call('ZADD', lanes_due, 'XX', now, recipient) end
return lanes
