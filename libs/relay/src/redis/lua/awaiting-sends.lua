--- Lists the sends that may match a new message of the recipient.
-- These are the sends whose POST began, and the queued and scheduled sends whose POST Redis may have lost.
-- @key awaiting          Sorted set of sends that await a message of the recipient.
-- @key lane              List of the sends in the recipient's lane.
-- @key scheduled         Sorted set of scheduled sends by their time.
-- @key status_scheduled  Set of the sends with the status `scheduled`.
-- @key of_recipient      Set of the sends to the recipient.
-- @arg max_count         Maximum number of awaiting sends, and of sends of the lane to examine.
-- @arg max_clock_step    Maximum time by which Redis' clock may have been set back, in ms.
-- @arg send_prefix       Prefix of the keys of sends, in the same hash slot.
-- @reply                 Ids of the sends.
--- @include "includes/send-lanes.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"

local ids = redis.call('ZRANGE', awaiting, -max_count, -1)
local current = redis_run()
local function is_of_other_run(id) return redis.call('HGET', send_prefix .. id, 'life') ~= current end
for _, id in ipairs(redis.call('LRANGE', lane, 0, max_count - 1)) do
  if is_of_other_run(id) and not redis.call('ZSCORE', awaiting, id) then ids[#ids + 1] = id end
end
-- A scheduled send that was due before Redis' clock was set back may already have been queued and posted. The caller
-- leaves out sends that cannot have been posted yet, because it can compare times by upstream's clock.
local due_until = now_ms() + max_clock_step
if redis.call('ZCOUNT', scheduled, '-inf', whole(due_until)) == 0 then return ids end
for _, id in ipairs(redis.call('ZINTER', 2, of_recipient, status_scheduled)) do
  if redis.call('HEXISTS', send_prefix .. id, 'place') == 1 and is_of_other_run(id) then
    local time = redis.call('ZSCORE', scheduled, scheduled_as(send_prefix .. id, id))
    if time and tonumber(time) <= due_until then ids[#ids + 1] = id end
  end
end
return ids
