--- Postpones a lane until its first send is due.
-- @key lanes_due   Sorted set of recipients by when their lane is due, in ms.
-- @key lane        List of the sends in the recipient's lane.
-- @arg recipient   Phone number of the recipient.
-- @arg wait        Wait in ms.
-- @arg id          The send's id.
-- @reply           1, or 0 if the lane has another first send: then the lane is not postponed.
--- @include "@platform/redis/lua/includes/now.lua"

if redis.call('LINDEX', lane, 0) ~= id then return 0 end
redis.call('ZADD', lanes_due, 'XX', whole(now_ms() + wait), recipient)
return 1
