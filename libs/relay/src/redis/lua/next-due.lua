--- Returns the time until the first member of a sorted set is due.
-- @key due         Sorted set by time.
-- @reply           Time in ms, or '' for an empty set.
--- @include "@platform/redis/lua/includes/now.lua"

local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
return first[2] and whole(math.max(first[2] - now_ms(), 0)) or ''
