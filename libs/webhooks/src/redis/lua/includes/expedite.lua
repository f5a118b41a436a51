--- Expedites deliveries that wait for their next attempt: on request, or because their endpoint has recovered.
-- A success after five seconds of nothing but failures shows that the endpoint has recovered. An endpoint where some
-- deliveries fail and others succeed, each for its own reason, was never down. This success, and each one after it,
-- expedites a few deliveries that failed before: a receiver that has just recovered is not overloaded. `recovering`,
-- in the hash of the endpoint's pace, says that more deliveries may wait. A delivery that fails for a reason of its
-- own must not use up its schedule this way: each is expedited a few times only (`hurried`).
--- @include "delivery-keys.lua"
--- @include "lanes.lua"
--- @include "pace.lua"

local EXPEDITED_A_SUCCESS, EXPEDITED_A_DELIVERY, AWAY_MS = 10, 3, 5000

-- Makes a pending delivery that waits for a later time due now, or when its turn comes. Returns true if it waited.
local function expedite(endpoint, id)
  if redis.call('ZSCORE', inflight(endpoint), id) then return false end
  local at = tonumber(redis.call('HGET', delivery(id), 'nextAttemptAt') or NOW)
  if at <= NOW then return false end
  redis.call('HSET', delivery(id), 'nextAttemptAt', whole(NOW))
  redis.call('ZADD', due(endpoint), 'XX', whole(NOW), id)
  return true
end

local function is_recovering(endpoint)
  local failing, recovering = unpack(redis.call('HMGET', pace(endpoint), 'failingSince', 'recovering'))
  return recovering or (failing and NOW - tonumber(failing) >= AWAY_MS)
end

local function expedite_failed(endpoint)
  local moved = 0
  local later = '(' .. whole(NOW)
  local waiting = redis.call('ZRANGE', due(endpoint), later, '+inf', 'BYSCORE', 'LIMIT', 0, 10 * EXPEDITED_A_SUCCESS)
  for _, id in ipairs(waiting) do
    local attempts, earlier, hurried = unpack(redis.call('HMGET', delivery(id), 'attempts', 'earlier', 'hurried'))
    local has_failed = tonumber(attempts or 0) > tonumber(earlier or 0)
    if has_failed and tonumber(hurried or 0) < EXPEDITED_A_DELIVERY and expedite(endpoint, id) then
      redis.call('HINCRBY', delivery(id), 'hurried', 1)
      moved = moved + 1
      if moved == EXPEDITED_A_SUCCESS then
        redis.call('HSET', pace(endpoint), 'recovering', 1)
        return
      end
    end
  end
  redis.call('HDEL', pace(endpoint), 'recovering')
end
