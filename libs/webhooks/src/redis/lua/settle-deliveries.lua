--- Records attempts, and schedules or finishes their deliveries.
-- @key webhooks       Hash of the account's endpoints.
-- @arg base           Prefix of the account's keys.
-- @arg default_slots  Maximum number of requests in flight for an endpoint without its own limit.
-- @arg max_attempts   Maximum number of stored attempts of a delivery.
-- @args attempts      For each attempt: id of the endpoint, id of the delivery, id of the claim, attempt as JSON,
--                     duration in ms, new status of the delivery, time until the next attempt in ms if that is
--                     'pending', part of that time which the receiver requested in ms or 0, why the delivery failed
--                     if it did, '1' to reduce the endpoint's concurrency, pause of the endpoint in ms, and URL that
--                     was called. Attempts of one endpoint follow each other, in the order in which they ended.
-- @reply              For each attempt two numbers: the time since the first of the endpoint's consecutive failures in
--                     ms, or -1 if the claim has ended and nothing is recorded; and 1 if this is the endpoint's last
--                     attempt here and more of its deliveries can be claimed or must end, else 0.
--- @include "includes/deliveries.lua"

local FIELDS, default, kept, at = 12, tonumber(default_slots), tonumber(max_attempts), whole(NOW)
local reply, has_written = {}, false

-- Adapts the pace of an endpoint to an attempt. Returns the time since the first of its consecutive failures.
local function adapt_pace(it, status, duration, slows_down, hold_ms)
  local endpoint = it.endpoint
  if status == 'succeeded' then
    if it.is_steady then return 0 end
    local from = recovers_from(endpoint)
    speed_up(endpoint, it.max)
    if from then expedite_failed(endpoint, from) end
    return 0
  end
  it.is_steady = false
  redis.call('HSETNX', pace(endpoint), 'failingSince', at)
  local _, slots = slots_of(endpoint, it.record, default)
  if slows_down == '1' then slow_down(endpoint, slots, NOW - tonumber(duration)) end
  if tonumber(hold_ms) > 0 then hold(endpoint, tonumber(hold_ms)) end
  -- Redis' clock may have been set back since then.
  return math.max(NOW - tonumber(redis.call('HGET', pace(endpoint), 'failingSince')), 0)
end

-- Records the attempt whose fields start at the argument with this index. Collects in `it` what is written once for all
-- attempts of the endpoint.
local function record_attempt(it, first)
  local endpoint, id, claim, attempt, duration, status, wait_ms, requested_ms, reason, slows_down, hold_ms, url =
    unpack(ARGV, first, first + FIELDS - 1)
  local key = delivery(id)
  local claimed_by, number, lane, position = unpack(redis.call('HMGET', key, 'claim', 'attempts', 'lane', 'position'))
  if claimed_by ~= claim then return -1 end
  -- A full Redis accepts all writes of a script whose first write is a removal. So the attempts are recorded even then.
  if not has_written then redis.call('ZREM', inflight(endpoint), id) end
  has_written = true
  number = number + 1
  if status == 'succeeded' then
    redis.call('HSET', key, 'attempts', number, 'attempt:' .. number, attempt,
      'status', status, 'reason', '', 'finishedAt', at)
    redis.call('HDEL', key, 'claim', 'body', 'nextAttemptAt', 'attempt:' .. (number - kept))
    it.succeeded[#it.succeeded + 1] = id
    if lane then
      -- A lane advances only when none of its deliveries is under way.
      redis.call('ZREM', inflight(endpoint), id)
      leave_this_lane(endpoint, id, lane, position)
    else
      it.landed[#it.landed + 1] = id
    end
  else
    redis.call('HSET', key, 'attempts', number, 'attempt:' .. number, attempt)
    redis.call('HDEL', key, 'attempt:' .. (number - kept), 'notBefore')
    if status == 'pending' then
      if tonumber(requested_ms) > 0 then redis.call('HSET', key, 'notBefore', whole(NOW + tonumber(requested_ms))) end
      end_claim(endpoint, id, NOW + tonumber(wait_ms))
    else
      redis.call('ZREM', inflight(endpoint), id)
      finish(endpoint, id, status, reason)
    end
  end
  -- An attempt at a former URL says nothing about the endpoint's current URL.
  if not it.record or it.record.url ~= url then return 0 end
  if status == 'succeeded' then it.has_worked = true end
  return adapt_pace(it, status, duration, slows_down, hold_ms)
end

local function open_endpoint(endpoint)
  local _, record = endpoint_record(endpoint)
  local failing, pausing, reduced, recovering =
    unpack(redis.call('HMGET', pace(endpoint), 'failingSince', 'pause', 'slots', 'recovering'))
  return {
    endpoint = endpoint, record = record, max = record and slots_of(endpoint, record, default),
    -- While the endpoint neither fails nor recovers, a success changes nothing of its pace.
    is_steady = not (failing or pausing or reduced or recovering),
    landed = {}, succeeded = {},
  }
end

local function close_endpoint(it)
  local endpoint = it.endpoint
  zrem(inflight(endpoint), it.landed)
  finish_succeeded(endpoint, it.succeeded)
  if it.has_worked then
    redis.call('HSET', backlog(endpoint), 'works', 1, 'succeededAt', at)
  end
  update_agenda(endpoint, default, it.record)
  -- The deliveries of an endpoint that was disabled during the attempt end at once, also those that are due later.
  local last = it.record and not it.record.enabled and '+inf' or at
  if redis.call('ZCOUNT', due(endpoint), '-inf', last) > 0 or can_refill(endpoint) then reply[#reply] = 1 end
end

local it
for first = attempts_from, #ARGV, FIELDS do
  if not it or it.endpoint ~= ARGV[first] then
    if it then close_endpoint(it) end
    it = open_endpoint(ARGV[first])
  end
  local failing_ms = record_attempt(it, first)
  reply[#reply + 1], reply[#reply + 2] = failing_ms, 0
end
if it then close_endpoint(it) end
return reply
