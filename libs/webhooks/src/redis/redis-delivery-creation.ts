import { KEEP_READING, LOGGED_EVENT } from '#events';
import { RedisScript } from '#platform';
import { DELIVERY_COMMON } from './redis-delivery-common.js';
import { GAPS } from './redis-gaps.js';

const CREATION = `${DELIVERY_COMMON}${GAPS}${KEEP_READING}
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

-- Makes a delivery pending, due now or when it has its turn.
local function put(endpoint, id, contact)
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

-- The event whose four values begin at an argument, for an endpoint.
local function create(endpoint, id, event)
  redis.call('HSET', delivery(id), 'endpoint', endpoint, 'attempts', 0, 'createdAt', whole(NOW),
    'event', ARGV[event], 'type', ARGV[event + 1], 'contact', ARGV[event + 2], 'position', ARGV[event + 3])
  local number = redis.call('INCR', BASE .. 'deliveries:count')
  redis.call('ZADD', listed(endpoint), number, id)
  redis.call('ZADD', listed(endpoint, 'pending'), number, id)
  put(endpoint, id, ARGV[event + 2])
end

-- Begins the schedule of a finished delivery again; its attempts are kept.
local function again(endpoint, id, status)
  redis.call('ZREM', FINISHED, id)
  local attempts, contact = unpack(redis.call('HMGET', delivery(id), 'attempts', 'contact'))
  redis.call('HSET', delivery(id), 'earlier', attempts)
  redis.call('HDEL', delivery(id), 'finishedAt', 'reason', 'missed', 'hurried')
  list_as(endpoint, id, status, 'pending')
  put(endpoint, id, contact)
end
`;

const script = (source: string): RedisScript => new RedisScript(CREATION + source);

/**
 * What is for a disabled endpoint, or above the bound of a backlog, widens its gap instead; but a test is let through where
 * nothing has an order, since somebody waits for it. Answers whether the reader's lease held, if one is given.
 * ARGV: base, lease or '', its token, its length in ms, number of events, four per event (id, type, contact, position), three
 * per delivery (id, endpoint, event).
 */
export const CREATE = script(`
if ARGV[2] ~= '' and not keep_reading(ARGV[2], ARGV[3], ARGV[4]) then return 0 end
local events, left_behind = tonumber(ARGV[5]), {}
local function has_room(endpoint, type)
  if type == 'webhook.test' and not endpoint_of(endpoint).ordered then return pending_at(endpoint) < MAX_PENDING end
  return not left_behind[endpoint] and not behind(endpoint) and pending_at(endpoint) < max_pending(endpoint)
end
for i = 6 + events * 4, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], 6 + (tonumber(ARGV[i + 2]) * 4)
  local state = endpoint_of(endpoint).state
  if state ~= 'removed' and redis.call('EXISTS', delivery(id)) == 0 then
    if state == 'disabled' then
      widen_gap(gaps(endpoint), ARGV[event + 3])
    elseif has_room(endpoint, ARGV[event + 1]) then
      close_gap(gaps(endpoint))
      create(endpoint, id, event)
    else
      close_gap(gaps(endpoint))
      widen_behind(gaps(endpoint), ARGV[event + 3])
      left_behind[endpoint] = true
    end
  end
end
for endpoint in pairs(left_behind) do
  local at = refill_from(endpoint)
  if at then redis.call('ZADD', AGENDA, 'LT', whole(at), endpoint) end
end
return 1
`);

/**
 * ARGV: base, scope, then as of {@link CREATE} from the number of events on. Answers how many became pending, or due now;
 * what finds no room in the backlog is left as it is.
 */
export const REPLAY = script(`
local only, events, made = ARGV[2], tonumber(ARGV[3]), 0
for i = 4 + events * 4, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], 4 + (tonumber(ARGV[i + 2]) * 4)
  if endpoint_of(endpoint).state == 'enabled' then
    local status, missed = unpack(redis.call('HMGET', delivery(id), 'status', 'missed'))
    local has_room = status ~= 'pending' and pending_at(endpoint) < MAX_PENDING
    if not status then
      if has_room and (only == 'all' or (only == 'missed' and is_in_gap(gaps(endpoint), ARGV[event + 3]))) then
        create(endpoint, id, event)
        made = made + 1
      end
    elseif status == 'pending' then
      if only == 'pending' and hurry(endpoint, id) then
        redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
        made = made + 1
      end
    elseif has_room and (only == 'all' or (status == 'failed' and (only == 'failed' or missed == '1'))) then
      again(endpoint, id, status)
      made = made + 1
    end
  end
end
return made
`);

/** ARGV: base, delivery. Answers 'retried', or why it was not. */
export const RETRY = script(`${LOGGED_EVENT}
local id = ARGV[2]
local status, endpoint, position, event =
  unpack(redis.call('HMGET', delivery(id), 'status', 'endpoint', 'position', 'event'))
if not status then return 'unknown' end
if endpoint_of(endpoint).state ~= 'enabled' then return endpoint_of(endpoint).state end
if status == 'pending' then
  if hurry(endpoint, id) then redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint) end
  return 'retried'
end
if not logged_event(BASE .. 'events', position, event) then return 'lost' end
again(endpoint, id, status)
return 'retried'
`);

/** ARGV: base, endpoint. Answers where what is behind begins and ends, and how many may be made pending now; nil for none. */
export const BEHIND = script(`
local from, to = behind(ARGV[2])
local at, room = refill_from(ARGV[2])
if not at or at > NOW then return nil end
return {from, to, room}
`);

/**
 * Makes deliveries of what is behind, as far as there is room, and moves its beginning on; nothing if another did it
 * meanwhile. ARGV: base, endpoint, where it begins, where it begins after all of the deliveries, then as of {@link CREATE}
 * from the number of events on, in the order of the log. Answers whether it was moved.
 */
export const REFILL = script(`
local endpoint, expected, next, events = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local from, to = behind(endpoint)
local at, room = refill_from(endpoint)
if from ~= expected or not at or at > NOW or endpoint_of(endpoint).state ~= 'enabled' then return 0 end
local is_probe, made = pending_at(endpoint) >= max_pending(endpoint), 0
for i = 6 + events * 4, #ARGV, 3 do
  local id, event = ARGV[i], 6 + (tonumber(ARGV[i + 2]) * 4)
  if redis.call('EXISTS', delivery(id)) == 0 then
    if made >= room then
      next = ARGV[event + 3]
      break
    end
    create(endpoint, id, event)
    made = made + 1
  end
end
if is_probe then redis.call('HSET', backlog(endpoint), 'probedAt', whole(NOW)) end
if is_after(next, to) then redis.call('RPOP', gaps(endpoint))
else redis.call('LSET', gaps(endpoint), -1, next .. ' ' .. to .. ' behind') end
redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
return 1
`);
