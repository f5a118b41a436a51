--- Records an attempt of a delivery, and schedules or finishes the delivery.
-- @key webhooks       Hash of the account's endpoints.
-- @arg base           Prefix of the account's keys.
-- @arg endpoint       The endpoint's id.
-- @arg default_slots  Maximum number of requests in flight for an endpoint without its own limit.
-- @arg id             The delivery's id.
-- @arg claim          Id of the claim.
-- @arg attempt        The attempt as JSON.
-- @arg duration       Duration of the attempt in ms.
-- @arg status         New status of the delivery.
-- @arg wait_ms        Time until the next attempt in ms, if the new status is 'pending'.
-- @arg reason         Why the delivery failed, if it did.
-- @arg slows_down     '1' to reduce the endpoint's concurrency.
-- @arg hold_ms        Pause of the endpoint in ms.
-- @arg max_attempts   Maximum number of stored attempts.
-- @reply              An array.
-- @field recorded     1, or 0 if the claim has ended.
-- @field more         1 if the endpoint has more due deliveries, else 0.
-- @field failing_ms   Time since the first of the endpoint's consecutive failures, in ms.
--- @include "includes/deliveries.lua"

local default, began = tonumber(default_slots), NOW - tonumber(duration)
local wait, hold_for, kept = tonumber(wait_ms), tonumber(hold_ms), tonumber(max_attempts)
if redis.call('HGET', delivery(id), 'claim') ~= claim then return {0, 0, 0} end

local number = redis.call('HINCRBY', delivery(id), 'attempts', 1)
redis.call('HSET', delivery(id), 'attempt:' .. number, attempt)
redis.call('HDEL', delivery(id), 'attempt:' .. (number - kept))
if status == 'pending' then
  take_back(endpoint, id, NOW + wait)
else
  redis.call('ZREM', inflight(endpoint), id)
  finish(endpoint, id, status, reason)
end

local failing, _, record = 0, endpoint_record(endpoint)
if record then
  local max, slots = slots_of(endpoint, record, default)
  if status == 'succeeded' then
    local recovers = is_recovering(endpoint)
    speed_up(endpoint, max)
    redis.call('HSET', backlog(endpoint), 'works', 1, 'succeededAt', whole(NOW))
    if recovers then expedite_failed(endpoint) end
  else
    redis.call('HSETNX', pace(endpoint), 'failingSince', whole(NOW))
    failing = NOW - tonumber(redis.call('HGET', pace(endpoint), 'failingSince'))
    if slows_down == '1' then slow_down(endpoint, slots, began) end
    if hold_for > 0 then hold(endpoint, hold_for) end
  end
end
note(endpoint, default)
local more = redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 or can_refill(endpoint)
return {1, more and 1 or 0, failing}
