--- Creates deliveries, and restarts finished deliveries.
-- A script often makes many deliveries of few endpoints pending. The new entries of each sorted set are collected, and
-- `write_pending` writes them together at the end of the script.
--- @include "deliveries.lua"
--- @include "gaps.lua"
--- @include "@events/lua/includes/renew-reader.lua"

local NOW_TEXT, COUNT = whole(NOW), base .. 'deliveries:count'
local known, created = {}, 0
local first_number

local function endpoint_of(id)
  if not known[id] then
    local _, record = endpoint_record(id)
    known[id] = {
      state = record and (record.enabled and 'enabled' or 'disabled') or 'removed',
      ordered = record and record.ordered,
      -- Arguments of ZADD.
      numbers = {}, due = {}, waiting = {},
      lanes = {},
    }
  end
  return known[id]
end

-- Returns the number of pending deliveries, including those that are not written yet.
local function pending_of(endpoint)
  local it = endpoint_of(endpoint)
  it.pending = it.pending or pending_at(endpoint)
  return it.pending
end

-- Queues a delivery whose other fields are already stored. Its attempt is due now, or when the delivery is the first of
-- its lane.
local function make_pending(endpoint, id, lane, position)
  local it = endpoint_of(endpoint)
  it.pending, it.has_new = pending_of(endpoint) + 1, true
  if lane then
    redis.call('HSET', delivery(id), 'lane', lane)
    it.waiting[#it.waiting + 1], it.waiting[#it.waiting + 2] = 0, member_of(lane, id, position)
    it.lanes[lane] = true
  else
    it.due[#it.due + 1], it.due[#it.due + 2] = NOW_TEXT, id
  end
end

local function lane_of(endpoint, contact)
  return endpoint_of(endpoint).ordered and string.sub(redis.sha1hex(contact), 1, 16) or nil
end

-- Creates the delivery of an event to an endpoint. The event's four values start at the argument with this index.
local function create(endpoint, id, event)
  local contact, position = ARGV[event + 2], ARGV[event + 3]
  local lane = lane_of(endpoint, contact)
  redis.call('HSET', delivery(id), 'endpoint', endpoint, 'attempts', 0, 'createdAt', NOW_TEXT,
    'event', ARGV[event], 'type', ARGV[event + 1], 'contact', contact, 'position', position,
    'status', 'pending', 'nextAttemptAt', NOW_TEXT)
  first_number = first_number or tonumber(redis.call('GET', COUNT) or 0) + 1
  local numbers = endpoint_of(endpoint).numbers
  numbers[#numbers + 1], numbers[#numbers + 2] = whole(first_number + created), id
  created = created + 1
  make_pending(endpoint, id, lane, position)
end

-- Restarts the retry schedule of a finished delivery, and keeps its attempts.
local function restart(endpoint, id, status)
  redis.call('ZREM', FINISHED, id)
  local attempts, contact, position = unpack(redis.call('HMGET', delivery(id), 'attempts', 'contact', 'position'))
  local lane = lane_of(endpoint, contact)
  redis.call('HDEL', delivery(id), 'finishedAt', 'reason', 'missed', 'lost', 'hurried', 'lane')
  redis.call('HSET', delivery(id), 'earlier', attempts, 'status', 'pending', 'nextAttemptAt', NOW_TEXT)
  list_as(endpoint, id, status, 'pending')
  make_pending(endpoint, id, lane, position)
end

-- Writes what `create` and `restart` collected. A script that calls one of them must call this function afterwards.
local function write_pending()
  if created > 0 then redis.call('INCRBY', COUNT, created) end
  for endpoint, it in pairs(known) do
    if it.has_new then
      keep_older_builds_off(endpoint)
      zadd(listed(endpoint), it.numbers)
      zadd(listed(endpoint, 'pending'), it.numbers)
      zadd(due(endpoint), it.due)
      zadd(lanes(endpoint), it.waiting)
      for lane in pairs(it.lanes) do advance(endpoint, lane) end
      redis.call('ZADD', AGENDA, 'LT', NOW_TEXT, endpoint)
    end
  end
end

-- Returns true if the event at this position must wait, because earlier events have no deliveries to this ordered
-- endpoint yet: some are not dispatched, or the backlog has no room for them. Refills later create the deliveries in
-- the order of the log. That includes events after the end of the `behind` gap, which extend the gap when they are
-- dispatched.
local function waits_in_order(endpoint, position)
  if not endpoint_of(endpoint).ordered then return false end
  local from, dispatched = behind(endpoint), redis.call('HGET', base .. 'events:counters', 'dispatched')
  return not dispatched or is_after(position, dispatched) or (from and not is_after(from, position))
end
