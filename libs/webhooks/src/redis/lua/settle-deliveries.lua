--- Records attempts of one endpoint, and schedules or finishes their deliveries.
-- @key webhooks       Hash of the account's endpoints.
-- @arg base           Prefix of the account's keys.
-- @arg endpoint       The endpoint's id.
-- @arg default_slots  Maximum number of requests in flight for an endpoint without its own limit.
-- @arg max_attempts   Maximum number of stored attempts of a delivery.
-- @args attempts      For each attempt, in the order in which they ended: id of the delivery, id of the claim, attempt
--                     as JSON, duration in ms, new status of the delivery, time until the next attempt in ms if that
--                     is 'pending', why the delivery failed if it did, '1' to reduce the endpoint's concurrency, and
--                     pause of the endpoint in ms.
-- @reply              An array.
-- @field more         1 if the endpoint has more due deliveries, else 0.
-- @fields recorded    For each attempt: time since the first of the endpoint's consecutive failures in ms, or -1 if the
--                     claim has ended and nothing is recorded.
--- @include "includes/deliveries.lua"

local FIELDS, default, kept = 9, tonumber(default_slots), tonumber(max_attempts)
local _, record = endpoint_record(endpoint)
local max = record and slots_of(endpoint, record, default)
local reply, at, landed, succeeded = {0}, whole(NOW), {}, {}
-- While the endpoint neither fails nor recovers, a success changes nothing of its pace.
local failing, pausing, reduced, recovering =
  unpack(redis.call('HMGET', pace(endpoint), 'failingSince', 'pause', 'slots', 'recovering'))
local is_steady = not (failing or pausing or reduced or recovering)

local function adapt_pace(status, duration, slows_down, hold_ms)
  if status == 'succeeded' then
    if is_steady then return 0 end
    local recovers = is_recovering(endpoint)
    speed_up(endpoint, max)
    if recovers then expedite_failed(endpoint) end
    return 0
  end
  is_steady = false
  redis.call('HSETNX', pace(endpoint), 'failingSince', at)
  local _, slots = slots_of(endpoint, record, default)
  if slows_down == '1' then slow_down(endpoint, slots, NOW - tonumber(duration)) end
  if tonumber(hold_ms) > 0 then hold(endpoint, tonumber(hold_ms)) end
  return NOW - tonumber(redis.call('HGET', pace(endpoint), 'failingSince'))
end

for i = attempts_from, #ARGV, FIELDS do
  local id, claim, attempt, duration, status, wait_ms, reason, slows_down, hold_ms = unpack(ARGV, i, i + FIELDS - 1)
  local key, answer = delivery(id), -1
  local claimed_by, number, lane, position = unpack(redis.call('HMGET', key, 'claim', 'attempts', 'lane', 'position'))
  if claimed_by == claim then
    number = number + 1
    if status == 'succeeded' then
      redis.call('HSET', key, 'attempts', number, 'attempt:' .. number, attempt,
        'status', status, 'reason', '', 'finishedAt', at)
      redis.call('HDEL', key, 'claim', 'body', 'nextAttemptAt', 'attempt:' .. (number - kept))
      succeeded[#succeeded + 1] = id
      if lane then
        -- A lane advances only when none of its deliveries is under way.
        redis.call('ZREM', inflight(endpoint), id)
        leave_this_lane(endpoint, id, lane, position)
      else
        landed[#landed + 1] = id
      end
    else
      redis.call('HSET', key, 'attempts', number, 'attempt:' .. number, attempt)
      redis.call('HDEL', key, 'attempt:' .. (number - kept))
      if status == 'pending' then
        take_back(endpoint, id, NOW + tonumber(wait_ms))
      else
        redis.call('ZREM', inflight(endpoint), id)
        finish(endpoint, id, status, reason)
      end
    end
    answer = record and adapt_pace(status, duration, slows_down, hold_ms) or 0
  end
  reply[#reply + 1] = answer
end

zrem(inflight(endpoint), landed)
finish_succeeded(endpoint, succeeded)
if record and #succeeded > 0 then redis.call('HSET', backlog(endpoint), 'works', 1, 'succeededAt', at) end
note(endpoint, default, record)
if redis.call('ZCOUNT', due(endpoint), '-inf', at) > 0 or can_refill(endpoint) then reply[1] = 1 end
return reply
