-- Of what is neither due nor under way any more. What fails while its endpoint is disabled counts as missed.
local function finish(endpoint, id, status, reason)
  redis.call('HSET', delivery(id), 'status', status, 'reason', reason, 'finishedAt', whole(NOW))
  redis.call('HDEL', delivery(id), 'body', 'claim', 'nextAttemptAt')
  redis.call('ZADD', FINISHED, whole(NOW), id)
  list_as(endpoint, id, 'pending', status)
  leave_lane(endpoint, id)
  local stored = status == 'failed' and redis.call('HGET', WEBHOOKS, endpoint)
  if stored and not cjson.decode(stored).enabled then redis.call('HSET', delivery(id), 'missed', 1) end
end

local MOST_GAPS = 100

local function is_after(position, other)
  local ms, n = string.match(position, '^(%d+)-(%d+)$')
  local other_ms, other_n = string.match(other, '^(%d+)-(%d+)$')
  if ms == other_ms then return tonumber(n) > tonumber(other_n) end
  return tonumber(ms) > tonumber(other_ms)
end

local function widen_gap(gaps, position)
  local from, to = string.match(redis.call('LINDEX', gaps, -1) or '', '^(%S+) (%S+) open$')
  if from then
    if is_after(position, to) then redis.call('LSET', gaps, -1, from .. ' ' .. position .. ' open') end
    return
  end
  if redis.call('RPUSH', gaps, position .. ' ' .. position .. ' open') > MOST_GAPS then
    local oldest = string.match(redis.call('LPOP', gaps), '^%S+')
    redis.call('LSET', gaps, 0, oldest .. string.match(redis.call('LINDEX', gaps, 0), '^%S+(.*)$'))
  end
end

local function close_gap(gaps)
  local stretch = string.match(redis.call('LINDEX', gaps, -1) or '', '^(.*) open$')
  if stretch then redis.call('LSET', gaps, -1, stretch) end
end

local function is_in_gap(gaps, position)
  for _, gap in ipairs(redis.call('LRANGE', gaps, 0, -1)) do
    local from, to = string.match(gap, '^(%S+) (%S+)')
    if not is_after(from, position) and not is_after(position, to) then return true end
  end
  return false
end

local function keep_reading(lease, token, ms)
  if redis.call('GET', lease) ~= token then return false end
  redis.call('PEXPIRE', lease, ms)
  return true
end

local known = {}
local function endpoint_of(id)
  if not known[id] then
    local record = redis.call('HGET', WEBHOOKS, id)
    record = record and cjson.decode(record)
    known[id] = {
      state = record and (record.enabled and 'enabled' or 'disabled') or 'removed',
      ordered = record and record.ordered,
    }
  end
  return known[id]
end

-- Makes a delivery pending, due now or when it has its turn.
local function put(endpoint, id, contact, body)
  redis.call('HSET', delivery(id), 'status', 'pending', 'body', body)
  if endpoint_of(endpoint).ordered then
    redis.call('HSET', delivery(id), 'lane', string.sub(redis.sha1hex(contact), 1, 16))
  else
    redis.call('HDEL', delivery(id), 'lane')
  end
  queue(endpoint, id, NOW)
  redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
end

-- The event whose five values begin at an argument, for an endpoint.
local function create(endpoint, id, event)
  redis.call('HSET', delivery(id), 'endpoint', endpoint, 'attempts', 0, 'createdAt', whole(NOW),
    'event', ARGV[event], 'type', ARGV[event + 1], 'contact', ARGV[event + 2], 'position', ARGV[event + 3])
  local number = redis.call('INCR', BASE .. 'deliveries:count')
  redis.call('ZADD', listed(endpoint), number, id)
  redis.call('ZADD', listed(endpoint, 'pending'), number, id)
  put(endpoint, id, ARGV[event + 2], ARGV[event + 4])
end

-- Begins the schedule of a finished delivery again; its attempts are kept.
local function again(endpoint, id, status, body)
  redis.call('ZREM', FINISHED, id)
  local attempts, contact = unpack(redis.call('HMGET', delivery(id), 'attempts', 'contact'))
  redis.call('HSET', delivery(id), 'earlier', attempts)
  redis.call('HDEL', delivery(id), 'finishedAt', 'reason', 'missed')
  list_as(endpoint, id, status, 'pending')
  put(endpoint, id, contact, body)
end

if ARGV[2] ~= '' and not keep_reading(ARGV[2], ARGV[3], ARGV[4]) then return 0 end
local events = tonumber(ARGV[5])
for i = 6 + events * 5, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], 6 + (tonumber(ARGV[i + 2]) * 5)
  local state = endpoint_of(endpoint).state
  if state ~= 'removed' and redis.call('EXISTS', delivery(id)) == 0 then
    if state == 'enabled' then
      close_gap(gaps(endpoint))
      create(endpoint, id, event)
    else
      widen_gap(gaps(endpoint), ARGV[event + 3])
    end
  end
end
return 1
