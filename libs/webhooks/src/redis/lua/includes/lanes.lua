--- Queues the pending deliveries of an endpoint.
-- `due` contains the deliveries that may be attempted, by the time of their next attempt. A delivery of an ordered
-- endpoint is in the lane of its contact. Only the first delivery of a lane, in the order of the log, is due or under
-- way. A delivery stays in its lane until it is finished. `turns` is a hash from a lane to this first delivery.
-- Whether a delivery has a lane is decided when it becomes pending, so a change of `ordered` applies to later
-- deliveries.
--- @include "delivery-keys.lua"

local function lanes(endpoint) return base .. 'endpoint:' .. endpoint .. ':lanes' end
local function turns(endpoint) return base .. 'endpoint:' .. endpoint .. ':turns' end

-- Returns the member of a delivery in `lanes`. Members sort as text: by lane, then by position in the log.
local function member_of(lane, id, position)
  local ms, n = string.match(position, '^(%d+)-(%d+)$')
  local function padded(digits) return string.rep('0', 20 - #digits) .. digits end
  return lane .. ':' .. padded(ms) .. ':' .. padded(n) .. ':' .. id
end

-- Makes the first delivery of a lane due, and no other. While a delivery of the lane is under way, none is due.
local function advance(endpoint, lane)
  local turn = redis.call('HGET', turns(endpoint), lane)
  if turn and redis.call('ZSCORE', inflight(endpoint), turn) then return end
  local from, to = '[' .. lane .. ':', '(' .. lane .. ';'
  local member = redis.call('ZRANGE', lanes(endpoint), from, to, 'BYLEX', 'LIMIT', 0, 1)[1]
  local first = member and string.match(member, '[^:]+$')
  if turn and turn ~= first then redis.call('ZREM', due(endpoint), turn) end
  if first then
    redis.call('HSET', turns(endpoint), lane, first)
    redis.call('ZADD', due(endpoint), redis.call('HGET', delivery(first), 'nextAttemptAt'), first)
  else
    redis.call('HDEL', turns(endpoint), lane)
  end
end

-- Queues a pending delivery. Its attempt is due at this time, or when the delivery is the first of its lane.
local function queue(endpoint, id, at)
  redis.call('HSET', delivery(id), 'nextAttemptAt', whole(at))
  local lane, position = unpack(redis.call('HMGET', delivery(id), 'lane', 'position'))
  if lane then
    redis.call('ZADD', lanes(endpoint), 0, member_of(lane, id, position))
    advance(endpoint, lane)
  else
    redis.call('ZADD', due(endpoint), whole(at), id)
  end
end

-- Removes a finished delivery from its lane. The delivery is no longer due or under way.
local function leave_this_lane(endpoint, id, lane, position)
  redis.call('ZREM', lanes(endpoint), member_of(lane, id, position))
  advance(endpoint, lane)
end
local function leave_lane(endpoint, id)
  local lane, position = unpack(redis.call('HMGET', delivery(id), 'lane', 'position'))
  if lane then leave_this_lane(endpoint, id, lane, position) end
end
