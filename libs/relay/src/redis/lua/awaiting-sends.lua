--- Lists the sends that may match a new message of the recipient.
-- These are the sends whose POST began, and the queued sends whose POST Redis may have lost.
-- @key awaiting     Sorted set of sends that await a message of the recipient.
-- @key lane         List of the sends in the recipient's lane.
-- @arg max_count    Maximum number of each.
-- @arg send_prefix  Prefix of the keys of sends, in the slot of the keys.
-- @reply            Ids of the sends.
--- @include "@platform/redis/lua/includes/redis-run.lua"

local ids = redis.call('ZRANGE', awaiting, -max_count, -1)
local current = redis_run()
for _, id in ipairs(redis.call('LRANGE', lane, 0, max_count - 1)) do
  local here = redis.call('HGET', send_prefix .. id, 'life') == current
  if not here and not redis.call('ZSCORE', awaiting, id) then ids[#ids + 1] = id end
end
return ids
