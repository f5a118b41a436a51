/**
 * How what waits for its next attempt is tried sooner: on request, or since its endpoint is back.
 *
 * A success after five seconds of nothing but failures says that the endpoint is back; where some deliveries fail and others
 * do not, each for its own reason, it never was away. It, and each success after it, brings a few of
 * those forward that failed before, so that a receiver that has just recovered is not run over; `recovering`, in the hash of
 * the endpoint's pace, says that more may wait. A delivery that fails for a reason of its own must not use up its schedule so:
 * each is brought forward a few times only (`hurried`).
 */
export const HURRY = `
local FORWARD_A_SUCCESS, FORWARD_A_DELIVERY, AWAY_MS = 10, 3, 5000

-- Makes a pending delivery due now, or when it has its turn, if it waits for a later time; whether it did.
local function hurry(endpoint, id)
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

local function bring_forward(endpoint)
  local moved = 0
  local waiting = redis.call('ZRANGE', due(endpoint), '(' .. whole(NOW), '+inf', 'BYSCORE', 'LIMIT', 0, 10 * FORWARD_A_SUCCESS)
  for _, id in ipairs(waiting) do
    local attempts, earlier, hurried = unpack(redis.call('HMGET', delivery(id), 'attempts', 'earlier', 'hurried'))
    local has_failed = tonumber(attempts or 0) > tonumber(earlier or 0)
    if has_failed and tonumber(hurried or 0) < FORWARD_A_DELIVERY and hurry(endpoint, id) then
      redis.call('HINCRBY', delivery(id), 'hurried', 1)
      moved = moved + 1
      if moved == FORWARD_A_SUCCESS then
        redis.call('HSET', pace(endpoint), 'recovering', 1)
        return
      end
    end
  end
  redis.call('HDEL', pace(endpoint), 'recovering')
end
`;
