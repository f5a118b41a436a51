--- Limits the rate and concurrency of attempts to an endpoint.
-- The pace is a hash with times in ms by Redis' clock: `slots`: reduced limit of requests in flight, with a fraction;
-- absent while the limit is not reduced. Each success adds one divided by the number of slots, so that the limit
-- grows by one per round. `slowedAt`: time of the last reduction. `pause`: duration of the last pause while only one
-- slot is left. `heldUntil`: no attempt begins before this time. `tokens`, `filledAt` (with a fraction): bucket for
-- `rateLimitPerSecond`. `failingSince`: first failure since the last success.
--- @include "delivery-keys.lua"

local function pace(endpoint) return base .. 'endpoint:' .. endpoint .. ':speed' end
local FIRST_PAUSE, MAX_PAUSE = 1000, 30000

-- Returns the configured or default limit of requests in flight, and the limit that applies now.
local function slots_of(endpoint, record, default)
  local own = record.maxConcurrency
  local max = type(own) == 'number' and own or default
  return max, math.min(max, math.floor(tonumber(redis.call('HGET', pace(endpoint), 'slots') or max)))
end

-- Returns the time in ms with a fraction. With whole milliseconds, a bucket could get a little more than its rate.
local function exact_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end

-- Returns the number of attempts that the rate limit allows now, and the current time in ms with a fraction.
local function tokens_of(endpoint, record)
  local rate, at = record.rateLimitPerSecond, exact_now()
  if type(rate) ~= 'number' then return math.huge, at end
  local capacity = math.max(rate, 1)
  local tokens, filled = unpack(redis.call('HMGET', pace(endpoint), 'tokens', 'filledAt'))
  -- If Redis' clock was set back, the bucket would otherwise stay empty until the old time.
  if not tokens or tonumber(filled) > at then return capacity, at end
  return math.min(capacity, tonumber(tokens) + (at - tonumber(filled)) * rate / 1000), at
end

local function spend(endpoint, tokens, at, spent)
  if tokens == math.huge or spent == 0 then return end
  redis.call('HSET', pace(endpoint), 'tokens', string.format('%.6f', tokens - spent),
    'filledAt', string.format('%.3f', at))
end

-- Returns the time from which the rate limit and pauses allow an attempt.
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

local function speed_up(endpoint, max)
  redis.call('HDEL', pace(endpoint), 'failingSince', 'pause')
  local slots = tonumber(redis.call('HGET', pace(endpoint), 'slots'))
  if not slots then return end
  slots = slots + 1 / slots
  if slots < max then redis.call('HSET', pace(endpoint), 'slots', string.format('%.6f', slots))
  else redis.call('HDEL', pace(endpoint), 'slots', 'slowedAt') end
end

-- Halves the number of slots, to at least one. Ignores attempts that began before the last reduction. If only one slot
-- is left, pauses the endpoint instead, each time for longer.
local function slow_down(endpoint, slots, began)
  local slowed, pause = unpack(redis.call('HMGET', pace(endpoint), 'slowedAt', 'pause'))
  if slowed and began < tonumber(slowed) then return end
  redis.call('HSET', pace(endpoint), 'slowedAt', whole(NOW))
  if slots > 1 then
    redis.call('HSET', pace(endpoint), 'slots', math.floor(slots / 2))
  else
    local ms = pause and math.min(tonumber(pause) * 2, MAX_PAUSE) or FIRST_PAUSE
    redis.call('HSET', pace(endpoint), 'slots', 1, 'pause', whole(ms))
    hold(endpoint, ms)
  end
end
