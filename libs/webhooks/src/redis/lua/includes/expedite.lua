--- Expedites deliveries that wait for their next attempt: on request, or because their endpoint has recovered.
-- A success after at least five seconds with only failures shows that the endpoint has recovered. (An endpoint where
-- some deliveries fail and others succeed was never down.) This success and each later one expedite only a few failed
-- deliveries, so that the receiver is not overloaded.
--
-- The field `recovering` of the endpoint's pace exists while more deliveries may wait. It is the due time in ms at
-- which the last success stopped, and the next success continues from there. Otherwise, deliveries that may not be
-- expedited would hide those behind them. After another outage, a success begins with the earliest delivery again. The
-- same is true after a change of the URL during an outage, which writes 0. (Older builds write 1.)
--
-- A delivery that fails for a reason of its own must not use up its retry schedule at once. Each delivery is therefore
-- expedited only a few times (counted in `hurried`). No success makes a delivery due before the time that the receiver
-- requested by `Retry-After` (`notBefore`).
--- @include "delivery-keys.lua"
--- @include "lanes.lua"
--- @include "pace.lua"

local MAX_PER_SUCCESS, MAX_EXAMINED, MAX_PER_DELIVERY, MIN_FAILING_MS = 10, 100, 3, 5000

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

-- Returns the due time from which a success looks for waiting deliveries, or nil if the endpoint is not recovering.
local function recovers_from(endpoint)
  local failing, recovering = unpack(redis.call('HMGET', pace(endpoint), 'failingSince', 'recovering'))
  if failing and NOW - tonumber(failing) >= MIN_FAILING_MS then return NOW + 1 end
  return recovering and math.max(tonumber(recovering), NOW + 1)
end

-- Expedites failed deliveries that wait, from this due time on.
local function expedite_failed(endpoint, from)
  local waiting =
    redis.call('ZRANGE', due(endpoint), whole(from), '+inf', 'BYSCORE', 'LIMIT', 0, MAX_EXAMINED, 'WITHSCORES')
  local moved, last, has_more = 0, from, #waiting == 2 * MAX_EXAMINED
  for i = 1, #waiting, 2 do
    local id = waiting[i]
    last = tonumber(waiting[i + 1])
    local attempts, earlier, hurried, not_before =
      unpack(redis.call('HMGET', delivery(id), 'attempts', 'earlier', 'hurried', 'notBefore'))
    local has_failed = tonumber(attempts or 0) > tonumber(earlier or 0)
    local at = math.max(tonumber(not_before or 0), NOW)
    if has_failed and tonumber(hurried or 0) < MAX_PER_DELIVERY and expedite(endpoint, id, at) then
      redis.call('HINCRBY', delivery(id), 'hurried', 1)
      moved = moved + 1
      if moved == MAX_PER_SUCCESS then
        has_more = true
        break
      end
    end
  end
  if not has_more then
    redis.call('HDEL', pace(endpoint), 'recovering')
    return
  end
  -- More deliveries may be due at the same time as the last one. If all examined deliveries were due at this time and
  -- none was expedited, the next success continues after it.
  if last == from and moved == 0 then last = last + 1 end
  redis.call('HSET', pace(endpoint), 'recovering', whole(last))
end
