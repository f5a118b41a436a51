--- Creates deliveries, and restarts finished deliveries.
--- @include "deliveries.lua"
--- @include "gaps.lua"
--- @include "@events/lua/includes/renew-reader.lua"

local known = {}
local function endpoint_of(id)
  if not known[id] then
    local _, record = endpoint_record(id)
    known[id] = {
      state = record and (record.enabled and 'enabled' or 'disabled') or 'removed',
      ordered = record and record.ordered,
    }
  end
  return known[id]
end

-- Makes a delivery pending. Its attempt is due now, or when the delivery is the first of its lane.
local function make_pending(endpoint, id, contact)
  if not known[endpoint].kept_older_off then
    keep_older_builds_off(endpoint)
    known[endpoint].kept_older_off = true
  end
  redis.call('HSET', delivery(id), 'status', 'pending')
  if endpoint_of(endpoint).ordered then
    redis.call('HSET', delivery(id), 'lane', string.sub(redis.sha1hex(contact), 1, 16))
  else
    redis.call('HDEL', delivery(id), 'lane')
  end
  queue(endpoint, id, NOW)
  redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
end

-- Creates the delivery of an event to an endpoint. The event's four values start at the argument with this index.
local function create(endpoint, id, event)
  redis.call('HSET', delivery(id), 'endpoint', endpoint, 'attempts', 0, 'createdAt', whole(NOW),
    'event', ARGV[event], 'type', ARGV[event + 1], 'contact', ARGV[event + 2], 'position', ARGV[event + 3])
  local number = redis.call('INCR', base .. 'deliveries:count')
  redis.call('ZADD', listed(endpoint), number, id)
  redis.call('ZADD', listed(endpoint, 'pending'), number, id)
  make_pending(endpoint, id, ARGV[event + 2])
end

-- Restarts the retry schedule of a finished delivery, and keeps its attempts.
local function restart(endpoint, id, status)
  redis.call('ZREM', FINISHED, id)
  local attempts, contact = unpack(redis.call('HMGET', delivery(id), 'attempts', 'contact'))
  redis.call('HSET', delivery(id), 'earlier', attempts)
  redis.call('HDEL', delivery(id), 'finishedAt', 'reason', 'missed', 'lost', 'hurried')
  list_as(endpoint, id, status, 'pending')
  make_pending(endpoint, id, contact)
end
