/**
 * How fast an endpoint is served, a hash:
 * `slots`: requests in flight while it is slowed down, in parts of one, too; absent while it is not. Each success adds
 * a whole one over as many successes as there are slots, so that it grows by one a round.
 * `slowedAt`: when it last slowed down. `pause`: with one slot left, how long it was last left alone, in ms.
 * `heldUntil`: nothing is tried before. `tokens`, `filledAt`: a bucket for `rateLimitPerSecond`.
 * `failingSince`: the first failure since the last success. Times are Redis' own, in ms.
 */
export const PACE = `
local function pace(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':speed' end
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
`;
