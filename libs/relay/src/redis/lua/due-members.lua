--- Lists the members of a sorted set that are due.
-- @key due             Sorted set by time.
-- @arg max_count       Maximum number of members.
-- @reply               The members.
--- @include "@platform/redis/lua/includes/now.lua"

return redis.call('ZRANGEBYSCORE', due, '-inf', whole(now_ms()), 'LIMIT', 0, max_count)
