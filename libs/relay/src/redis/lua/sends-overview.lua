--- Counts sends and lanes.
-- @key lanes_due       Sorted set of recipients by when their lane is due, in ms.
-- @key lanes_since     Sorted set of sends by when they joined their lane, in ms.
-- @key lane_depths     Sorted set of recipients by the number of sends in their lane.
-- @keys statuses       One set of sends for each status.
-- @reply               An array.
-- @field now           The time in ms.
-- @field since         When the send that waits longest joined its lane, in ms; the current time if no send waits.
-- @field deepest       Number of sends in the longest lane.
-- @field count         Number of lanes.
-- @field due           Number of lanes that are due.
-- @fields sizes        Number of sends with each status.
--- @include "@platform/redis/lua/includes/now.lua"

local now = whole(now_ms())
local first = redis.call('ZRANGE', lanes_since, 0, 0, 'WITHSCORES')
local deepest = redis.call('ZREVRANGE', lane_depths, 0, 0, 'WITHSCORES')
local reply = {
  now, first[2] or now, deepest[2] or '0',
  redis.call('ZCARD', lanes_due), redis.call('ZCOUNT', lanes_due, '-inf', now)
}
for i = statuses_from, #KEYS do reply[#reply + 1] = redis.call('ZCARD', KEYS[i]) end
return reply
