/**
 * The queue of what is pending at an endpoint. `due` holds what may be attempted, by the time of its next attempt. At an
 * ordered endpoint a delivery is in a lane, its contact's: of each lane only the first in the order of the log is due,
 * or under way. A delivery stays in its lane until it is finished; `turns` says whose turn it is.
 * Whether a delivery has a lane is decided when it becomes pending: a change of `ordered` is for what comes later.
 */
export const LANES = `
local function lanes(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':lanes' end
local function turns(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':turns' end

-- Members of one set sort as text: the lane, then the place in the log.
local function place_in(lane, id, position)
  local ms, n = string.match(position, '^(%d+)-(%d+)$')
  local function padded(digits) return string.rep('0', 20 - #digits) .. digits end
  return lane .. ':' .. padded(ms) .. ':' .. padded(n) .. ':' .. id
end

-- Sees to it that the first of a lane is due, and none of the others; while one is under way, none is.
local function advance(endpoint, lane)
  local turn = redis.call('HGET', turns(endpoint), lane)
  if turn and redis.call('ZSCORE', inflight(endpoint), turn) then return end
  local place = redis.call('ZRANGE', lanes(endpoint), '[' .. lane .. ':', '(' .. lane .. ';', 'BYLEX', 'LIMIT', 0, 1)[1]
  local first = place and string.match(place, '[^:]+$')
  if turn and turn ~= first then redis.call('ZREM', due(endpoint), turn) end
  if first then
    redis.call('HSET', turns(endpoint), lane, first)
    redis.call('ZADD', due(endpoint), redis.call('HGET', delivery(first), 'nextAttemptAt'), first)
  else
    redis.call('HDEL', turns(endpoint), lane)
  end
end

-- Queues a pending delivery, to be attempted at a time if it has its turn by then.
local function queue(endpoint, id, at)
  redis.call('HSET', delivery(id), 'nextAttemptAt', whole(at))
  local lane, position = unpack(redis.call('HMGET', delivery(id), 'lane', 'position'))
  if lane then
    redis.call('ZADD', lanes(endpoint), 0, place_in(lane, id, position))
    advance(endpoint, lane)
  else
    redis.call('ZADD', due(endpoint), whole(at), id)
  end
end

-- Takes a finished delivery, which is neither due nor under way any more, out of its lane.
local function leave_lane(endpoint, id)
  local lane, position = unpack(redis.call('HMGET', delivery(id), 'lane', 'position'))
  if not lane then return end
  redis.call('ZREM', lanes(endpoint), place_in(lane, id, position))
  advance(endpoint, lane)
end
`;
