local BASE = ARGV[1]
local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

local function whole(number) return string.format('%d', number) end
local function delivery(id) return BASE .. 'delivery:' .. id end
local function due(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':due' end
local function inflight(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':inflight' end
local function gaps(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':gaps' end
-- The endpoint's deliveries, or those of one status, scored by a number that counts up with their creation.
local function listed(endpoint, status)
  return BASE .. 'endpoint:' .. endpoint .. ':deliveries' .. (status and ':' .. status or '')
end
local WEBHOOKS, AGENDA, FINISHED = BASE .. 'webhooks', BASE .. 'webhooks:due', BASE .. 'deliveries:finished'


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

local function pace(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':pace' end
local FIRST_PAUSE, LONGEST_PAUSE = 1000, 30000

-- The requests in flight that an endpoint asked for, else the default; and how many it gets at the moment.
local function slots_of(endpoint, record, default)
  local own = record.maxConcurrency
  local most = type(own) == 'number' and own or default
  return most, math.min(most, math.floor(tonumber(redis.call('HGET', pace(endpoint), 'slots') or most)))
end

-- How many attempts the rate allows now.
local function tokens_of(endpoint, record)
  local rate = record.rateLimitPerSecond
  if type(rate) ~= 'number' then return math.huge end
  local capacity = math.max(rate, 1)
  local tokens, filled = unpack(redis.call('HMGET', pace(endpoint), 'tokens', 'filledAt'))
  if not tokens then return capacity end
  return math.min(capacity, tonumber(tokens) + math.max(NOW - tonumber(filled), 0) * rate / 1000)
end

local function spend(endpoint, tokens, spent)
  if tokens == math.huge or spent == 0 then return end
  redis.call('HSET', pace(endpoint), 'tokens', string.format('%.6f', tokens - spent), 'filledAt', whole(NOW))
end

-- From when on something may be tried, as far as rate and holds are concerned.
local function open_from(endpoint, record)
  local at = tonumber(redis.call('HGET', pace(endpoint), 'heldUntil') or 0)
  local tokens = tokens_of(endpoint, record)
  if tokens < 1 then at = math.max(at, NOW + math.ceil((1 - tokens) * 1000 / record.rateLimitPerSecond)) end
  return at
end

local function hold(endpoint, ms)
  local held = tonumber(redis.call('HGET', pace(endpoint), 'heldUntil') or 0)
  if NOW + ms > held then redis.call('HSET', pace(endpoint), 'heldUntil', whole(NOW + ms)) end
end

local function speed_up(endpoint, most)
  redis.call('HDEL', pace(endpoint), 'failingSince', 'pause')
  local slots = tonumber(redis.call('HGET', pace(endpoint), 'slots'))
  if not slots then return end
  slots = slots + 1 / slots
  if slots < most then redis.call('HSET', pace(endpoint), 'slots', string.format('%.6f', slots))
  else redis.call('HDEL', pace(endpoint), 'slots', 'slowedAt') end
end

-- Half as many at once, at least one. Those under way at that time are not counted against it again; with one left,
-- pauses grow instead.
local function slow_down(endpoint, slots, began)
  local slowed, pause = unpack(redis.call('HMGET', pace(endpoint), 'slowedAt', 'pause'))
  if slowed and began < tonumber(slowed) then return end
  redis.call('HSET', pace(endpoint), 'slowedAt', whole(NOW))
  if slots > 1 then
    redis.call('HSET', pace(endpoint), 'slots', math.floor(slots / 2))
  else
    local ms = pause and math.min(tonumber(pause) * 2, LONGEST_PAUSE) or FIRST_PAUSE
    redis.call('HSET', pace(endpoint), 'slots', 1, 'pause', whole(ms))
    hold(endpoint, ms)
  end
end

-- Writes down when somebody must look at the endpoint again, whatever happens to the processes at work on it: when
-- the first lease ends, or, with a slot free, when the first delivery is due and the endpoint's pace allows it.
-- A removed endpoint stays on the agenda until the last of it is cleared up.
local function note(endpoint, default)
  local stored = redis.call('HGET', WEBHOOKS, endpoint)
  if not stored then return end
  local record = cjson.decode(stored)
  local first = tonumber(redis.call('ZRANGE', due(endpoint), 0, 0, 'WITHSCORES')[2])
  local at = tonumber(redis.call('ZRANGE', inflight(endpoint), 0, 0, 'WITHSCORES')[2])
  local _, slots = slots_of(endpoint, record, default)
  if first and redis.call('ZCARD', inflight(endpoint)) < slots then
    first = math.max(first, open_from(endpoint, record))
    at = math.min(at or first, first)
  end
  if at then redis.call('ZADD', AGENDA, whole(at), endpoint) else redis.call('ZREM', AGENDA, endpoint) end
end

-- Takes back a delivery that was under way, to be attempted at a time.
local function take_back(endpoint, id, at)
  redis.call('ZREM', inflight(endpoint), id)
  redis.call('HDEL', delivery(id), 'claim')
  queue(endpoint, id, at)
end

local function return_expired(endpoint)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', inflight(endpoint), '-inf', whole(NOW), 'LIMIT', 0, 1000)) do
    take_back(endpoint, id, NOW)
  end
end

local function list_as(endpoint, id, from, to)
  local number = redis.call('ZSCORE', listed(endpoint), id)
  if not number then return end
  redis.call('ZREM', listed(endpoint, from), id)
  redis.call('ZADD', listed(endpoint, to), number, id)
end
