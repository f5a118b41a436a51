import { KEEP_READING } from '#events';
import { RedisScript } from '#platform';
import { DELIVERY_COMMON } from './redis-delivery-common.js';
import { GAPS } from './redis-gaps.js';

const CREATION = `${DELIVERY_COMMON}${GAPS}${KEEP_READING}
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
  redis.call('HDEL', delivery(id), 'finishedAt', 'reason', 'missed', 'hurried')
  list_as(endpoint, id, status, 'pending')
  put(endpoint, id, contact, body)
end
`;

const script = (source: string): RedisScript => new RedisScript(CREATION + source);

/**
 * What is for a disabled endpoint widens its gap instead. Answers whether the reader's lease held, if one is given.
 * ARGV: base, lease or '', its token, its length in ms, number of events, five per event (id, type, contact, position, body), three per delivery (id, endpoint,
 * event).
 */
export const CREATE = script(`
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
`);

/** ARGV: base, scope, then as of {@link CREATE} from the number of events on. Answers how many became pending, or due now. */
export const REPLAY = script(`
local only, events, made = ARGV[2], tonumber(ARGV[3]), 0
for i = 4 + events * 5, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], 4 + (tonumber(ARGV[i + 2]) * 5)
  if endpoint_of(endpoint).state == 'enabled' then
    local status, missed = unpack(redis.call('HMGET', delivery(id), 'status', 'missed'))
    if not status then
      if only == 'all' or (only == 'missed' and is_in_gap(gaps(endpoint), ARGV[event + 3])) then
        create(endpoint, id, event)
        made = made + 1
      end
    elseif status == 'pending' then
      if only == 'pending' and hurry(endpoint, id) then
        redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
        made = made + 1
      end
    elseif
      (only == 'all' or (status == 'failed' and (only == 'failed' or missed == '1'))) then
      again(endpoint, id, status, ARGV[event + 4])
      made = made + 1
    end
  end
end
return made
`);

/** ARGV: base, delivery, body or '' if it is not kept. Answers 'retried', or why it was not. */
export const RETRY = script(`
local id, body = ARGV[2], ARGV[3]
local status, endpoint = unpack(redis.call('HMGET', delivery(id), 'status', 'endpoint'))
if not status then return 'unknown' end
if endpoint_of(endpoint).state ~= 'enabled' then return endpoint_of(endpoint).state end
if status == 'pending' then
  if hurry(endpoint, id) then redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint) end
  return 'retried'
end
if body == '' then return 'lost' end
again(endpoint, id, status, body)
return 'retried'
`);
