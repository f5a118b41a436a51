--- Schedules and finishes deliveries.
--- @include "delivery-keys.lua"
--- @include "lanes.lua"
--- @include "pace.lua"
--- @include "older-builds.lua"
--- @include "backlog.lua"
--- @include "expedite.lua"
--- @include "gaps.lua"

-- Writes to the agenda the time at which the endpoint needs work again, so that a worker is woken even if the
-- processes that work on the endpoint end. This is the earliest of three times: when the first lease ends; if a slot is
-- free, when the first delivery is due and the endpoint's pace allows it; and when the backlog can be refilled. The
-- waiting deliveries of a disabled endpoint end at once, also those that are due later. A removed endpoint stays on the
-- agenda until all its data is removed.
local function update_agenda(endpoint, default, record)
  if not record then return end
  local first = tonumber(redis.call('ZRANGE', due(endpoint), 0, 0, 'WITHSCORES')[2])
  local at = tonumber(redis.call('ZRANGE', inflight(endpoint), 0, 0, 'WITHSCORES')[2])
  local _, slots = slots_of(endpoint, record, default)
  if first and not record.enabled then
    at = NOW
  elseif first and redis.call('ZCARD', inflight(endpoint)) < slots then
    first = math.max(first, open_from(endpoint, record))
    at = math.min(at or first, first)
  end
  local refill = refill_from(endpoint)
  if refill then at = math.min(at or refill, refill) end
  leave_older_agenda(endpoint)
  if at then redis.call('ZADD', AGENDA, whole(at), endpoint) else redis.call('ZREM', AGENDA, endpoint) end
end

-- Ends the claim of a delivery under way. Its next attempt is due at this time.
local function end_claim(endpoint, id, at)
  redis.call('ZREM', inflight(endpoint), id)
  redis.call('HDEL', delivery(id), 'claim')
  queue(endpoint, id, at)
end

local function return_expired(endpoint)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', inflight(endpoint), '-inf', whole(NOW), 'LIMIT', 0, 1000)) do
    end_claim(endpoint, id, NOW)
  end
end

local function list_as(endpoint, id, from, to)
  local number = redis.call('ZSCORE', listed(endpoint), id)
  if not number then return end
  redis.call('ZREM', listed(endpoint, from), id)
  redis.call('ZADD', listed(endpoint, to), number, id)
end

-- Finishes a delivery that is no longer due or under way. A delivery that fails while its endpoint is disabled counts
-- as missed, even after retention has removed the delivery's record.
local function finish(endpoint, id, status, reason)
  redis.call('HSET', delivery(id), 'status', status, 'reason', reason, 'finishedAt', whole(NOW))
  redis.call('HDEL', delivery(id), 'body', 'claim', 'nextAttemptAt')
  redis.call('ZADD', FINISHED, whole(NOW), id)
  list_as(endpoint, id, 'pending', status)
  leave_lane(endpoint, id)
  if status ~= 'failed' then return end
  local _, record = endpoint_record(endpoint)
  if not record or record.enabled then return end
  redis.call('HSET', delivery(id), 'missed', 1)
  local position = redis.call('HGET', delivery(id), 'position')
  if position then widen_gap(gaps(endpoint), position) end
end

-- Does what `finish` does for many deliveries that succeeded. The caller has stored their fields.
local function finish_succeeded(endpoint, ids)
  if #ids == 0 then return end
  local at, ended, moved = whole(NOW), {}, {}
  local numbers = redis.call('ZMSCORE', listed(endpoint), unpack(ids))
  for i, id in ipairs(ids) do
    ended[2 * i - 1], ended[2 * i] = at, id
    if numbers[i] then moved[#moved + 1], moved[#moved + 2] = numbers[i], id end
  end
  zadd(FINISHED, ended)
  if #moved == 0 then return end
  zrem(listed(endpoint, 'pending'), ids)
  zadd(listed(endpoint, 'succeeded'), moved)
end

-- Ends a delivery as missed, because the log no longer contains its event.
local function miss(endpoint, id)
  finish(endpoint, id, 'failed', 'The event was deleted from the event log before it could be delivered.')
  redis.call('HSET', delivery(id), 'missed', 1, 'lost', 1)
end
