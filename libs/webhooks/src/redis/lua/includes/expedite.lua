--- Expedites deliveries that wait for their next attempt: on request, or because their endpoint has recovered.
-- A success after at least five seconds with only failures shows that the endpoint has recovered. (An endpoint where
-- some deliveries fail and others succeed was never down.) This success and each later one expedite only a few failed
-- deliveries, so that the receiver is not overloaded. `recovering`, in the hash of the endpoint's pace, means that
-- more deliveries may wait. A delivery that fails for its own reason must not use up its retry schedule in this way,
-- so each delivery is expedited only a few times (counted in `hurried`). No success makes a delivery due before the
-- time that the receiver requested by `Retry-After` (`notBefore`).
--- @include "delivery-keys.lua"
--- @include "lanes.lua"
--- @include "pace.lua"

local MAX_PER_SUCCESS, MAX_PER_DELIVERY, MIN_FAILING_MS = 10, 3, 5000

-- Returns true if a pending delivery waits for a time after `at`, or after now.
local function is_waiting(endpoint, id, at)
  if redis.call('ZSCORE', inflight(endpoint), id) then return false end
  return tonumber(redis.call('HGET', delivery(id), 'nextAttemptAt') or NOW) > (at or NOW)
end

-- Makes a waiting pending delivery due at `at`, or now. Returns true if the delivery was waiting for a later time.
local function expedite(endpoint, id, at)
  if not is_waiting(endpoint, id, at) then return false end
  redis.call('HSET', delivery(id), 'nextAttemptAt', whole(at or NOW))
  redis.call('ZADD', due(endpoint), 'XX', whole(at or NOW), id)
  return true
end

local function is_recovering(endpoint)
  local failing, recovering = unpack(redis.call('HMGET', pace(endpoint), 'failingSince', 'recovering'))
  return recovering or (failing and NOW - tonumber(failing) >= MIN_FAILING_MS)
end

local function expedite_failed(endpoint)
  local moved = 0
  local later = '(' .. whole(NOW)
  local waiting = redis.call('ZRANGE', due(endpoint), later, '+inf', 'BYSCORE', 'LIMIT', 0, 10 * MAX_PER_SUCCESS)
  for _, id in ipairs(waiting) do
    local attempts, earlier, hurried, not_before =
      unpack(redis.call('HMGET', delivery(id), 'attempts', 'earlier', 'hurried', 'notBefore'))
    local has_failed = tonumber(attempts or 0) > tonumber(earlier or 0)
    local at = math.max(tonumber(not_before or 0), NOW)
    if has_failed and tonumber(hurried or 0) < MAX_PER_DELIVERY and expedite(endpoint, id, at) then
      redis.call('HINCRBY', delivery(id), 'hurried', 1)
      moved = moved + 1
      if moved == MAX_PER_SUCCESS then
        redis.call('HSET', pace(endpoint), 'recovering', 1)
        return
      end
    end
  end
  redis.call('HDEL', pace(endpoint), 'recovering')
end
