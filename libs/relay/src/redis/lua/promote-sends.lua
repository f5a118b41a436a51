--- Moves scheduled sends into their lanes in one step, except sends that changed since they were read.
-- Members that are not scheduled sends, for example because their record was removed, are removed from the set.
-- @key scheduled        Sorted set of scheduled sends by their time.
-- @key lanes_due        Sorted set of recipients by when their lane is due, in ms.
-- @key lanes_since      Sorted set of sends by when they joined their lane, in ms.
-- @key lane_depths      Sorted set of recipients by the number of sends in their lane.
-- @key status_before    Set of the sends with the status `scheduled`.
-- @key status_after     Set of the sends with the status `queued`.
-- @key rows             Hash of the rows of contacts; its channel reports changes.
-- @arg send_prefix      Prefix of the keys of sends, in the same hash slot.
-- @arg lane_prefix      Prefix of the keys of lanes, in the same hash slot.
-- @arg invalid_members  Members to remove, as JSON: member, id, and revision or ''.
-- @args sends           Of each send: id, revision, recipient, state, and its new status as JSON for event streams.
-- @reply                Recipients of the sends that were moved.
--- @include "includes/send-lanes.lua"

local now, recipients = now_ms(), {}
for _, stray in ipairs(cjson.decode(invalid_members)) do
  if (redis.call('HGET', send_prefix .. stray[2], 'revision') or '') == stray[3] then
    redis.call('ZREM', scheduled, stray[1])
  end
end
for i = sends_from, #ARGV, 5 do
  local id, recipient = ARGV[i], ARGV[i + 2]
  local send = send_prefix .. id
  if redis.call('HGET', send, 'revision') == ARGV[i + 1] then
    redis.call('HSET', send, 'state', ARGV[i + 3], 'revision', ARGV[i + 1] + 1, 'nonce', '')
    redis.call('ZREM', scheduled, scheduled_as(send, id))
    join_lane(lane_prefix .. recipient, lanes_due, lanes_since, lane_depths, id, recipient, now)
    redis.call('ZREM', status_before, id)
    redis.call('ZADD', status_after, redis.call('HGET', send, 'place'), id)
    redis.pcall('PUBLISH', rows .. ':changes', 'send ' .. ARGV[i + 4])
    recipients[#recipients + 1] = recipient
  end
end
return recipients
