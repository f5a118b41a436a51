import { APPEND_EVENTS } from '#events';
import { REDIS_LIFE, RedisScript } from '#platform';
import { IDEMPOTENCY } from './redis-idempotency-keys.js';
import { LANES } from './redis-send-index.js';

const NOW = `
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function text(ms) return string.format('%d', ms) end
`;

/**
 * Stores a send once, with the life of Redis in which that was; one that is stored already, whose answer was lost with
 * the connection, is left as it is. A key whose reservation is over is not taken any more: another request may have it.
 * KEYS: send, lane, lane keys ×3, scheduled, idempotency (or any key, if there is none), places, expiring, the set of its
 * status, then the lasting sets.
 * ARGV: id, order, state, recipient, send at in ms or '', fingerprint or '', lifetime of the idempotency key in ms, owner
 * of its reservation or '', expires at in ms or ''.
 * Answers 'new', 'reused', 'busy', or the id of the send that the idempotency key already has.
 */
export const insertSend = new RedisScript(`${NOW}${LANES}${REDIS_LIFE}${IDEMPOTENCY}
if redis.call('EXISTS', KEYS[1]) == 1 then return 'new' end
if ARGV[6] ~= '' then
  local earlier = recall(redis.call('GET', KEYS[7]), ARGV[6], ARGV[8])
  if earlier then return earlier end
  redis.call('SET', KEYS[7], ARGV[6] .. ' ' .. ARGV[1], 'PX', ARGV[7])
end
local place = redis.call('INCR', KEYS[8])
redis.call('HSET', KEYS[1], 'order', ARGV[2], 'state', ARGV[3], 'revision', 0, 'life', life(), 'place', place)
for i = 10, #KEYS do redis.call('ZADD', KEYS[i], place, ARGV[1]) end
if ARGV[9] ~= '' then redis.call('ZADD', KEYS[9], ARGV[9], ARGV[1]) end
if ARGV[5] ~= '' then
  redis.call('ZADD', KEYS[6], ARGV[5], scheduled_as(KEYS[1], ARGV[1]))
else
  join_lane(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1], ARGV[4], now_ms())
end
return 'new'
`);

/**
 * One step of a send, or nothing if it changed since it was read, or the message is another send's. A step that was
 * taken already, whose answer was lost with the connection, is known by its nonce.
 * KEYS: log ×3, send, lane, lane keys ×3, awaiting, confirms, scheduled, finished, claims, the sets of the status before and
 * after, expiring, undecided.
 * ARGV: id, revision, state, recipient, place before and after ('schedule', 'lane', 'shelf'), lane due in ms or '',
 * awaiting ('yes', 'no'), confirm in ms, 'never' or '', message id or '', what its claim says, nonce, life ('same': only in the one that the
 * send carries; 'this': it carries this one from now on; ''), the nonce that it was read with, when it expires if it can from
 * now on, in ms, 'never' or '', whether it is 'undecided' or '', then the events.
 */
export const transitSend = new RedisScript(`${APPEND_EVENTS}${NOW}${REDIS_LIFE}${LANES}
local send, lane, lanes, since, depths, awaiting, confirms = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local scheduled, finished, claims = KEYS[11], KEYS[12], KEYS[13]
local id, recipient, before, after = ARGV[1], ARGV[4], ARGV[5], ARGV[6]
local step = redis.call('HGET', send, 'nonce') or ''
if redis.call('HGET', send, 'revision') ~= ARGV[2] or step ~= ARGV[14] then
  return step == ARGV[12] and 1 or 0
end
if ARGV[13] == 'same' and redis.call('HGET', send, 'life') ~= life() then return 0 end
if ARGV[10] ~= '' then
  local owner = redis.call('HGET', claims, ARGV[10])
  if owner and string.match(owner, '^%S+') ~= id then return 0 end
  redis.call('HSET', claims, ARGV[10], ARGV[11])
end
local now = now_ms()
redis.call('HSET', send, 'state', ARGV[3], 'revision', ARGV[2] + 1, 'nonce', ARGV[12])
if ARGV[13] == 'this' then redis.call('HSET', send, 'life', life()) end
if before ~= after then
  if before == 'schedule' then redis.call('ZREM', scheduled, scheduled_as(send, id))
  elseif before == 'lane' then leave_lane(lane, lanes, since, depths, id, recipient, now)
  else
    redis.call('ZREM', finished, id)
    redis.call('ZREM', KEYS[17], id)
  end
  if after == 'lane' then join_lane(lane, lanes, since, depths, id, recipient, now) end
end
if KEYS[14] ~= KEYS[15] then
  redis.call('ZREM', KEYS[14], id)
  redis.call('ZADD', KEYS[15], redis.call('HGET', send, 'place'), id)
end
if after == 'shelf' and ARGV[16] == 'undecided' then
  redis.call('ZREM', finished, id)
  redis.call('ZADD', KEYS[17], 'NX', text(now), id)
elseif after == 'shelf' then
  redis.call('ZREM', KEYS[17], id)
  redis.call('ZADD', finished, text(now), id)
end
if ARGV[7] ~= '' then redis.call('ZADD', lanes, 'XX', text(now + ARGV[7]), recipient) end
if ARGV[8] == 'yes' then redis.call('ZADD', awaiting, 'NX', text(now), id)
else redis.call('ZREM', awaiting, id) end
if ARGV[9] == 'never' then redis.call('ZREM', confirms, id)
elseif ARGV[9] ~= '' then redis.call('ZADD', confirms, text(now + ARGV[9]), id) end
if ARGV[15] == 'never' then redis.call('ZREM', KEYS[16], id)
elseif ARGV[15] ~= '' then redis.call('ZADD', KEYS[16], ARGV[15], id) end
append_events(17)
return 1
`);

/** KEYS: lane, lane keys ×3. ARGV: id, recipient. */
export const clearLane = new RedisScript(`${NOW}${LANES}
leave_lane(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2], now_ms())
return 1
`);

/**
 * KEYS: lane, lane keys ×3, life, upstreams. ARGV: prefix of send keys, recipient. Answers the time, the head's order,
 * state and revision, since when Redis lives another life than the one that the send carries, or '', since when it lives
 * another one than was known until now, or '', and which service each address is of. An id whose send is gone must not hold the lane up for ever: it is dropped.
 */
export const laneHead = new RedisScript(`${NOW}${LANES}${REDIS_LIFE}
local current = life()
-- Whoever notices another life answers it with the head: where there is none, the next one is to notice it.
local function since_when()
  local known = redis.call('HGET', KEYS[5], 'id')
  if known == current then return redis.call('HGET', KEYS[5], 'since'), '' end
  local now = text(now_ms())
  redis.call('HSET', KEYS[5], 'id', current, 'since', now)
  return now, known and now or ''
end
while true do
  local id = redis.call('LINDEX', KEYS[1], 0)
  if not id then return {} end
  local record = redis.call('HMGET', ARGV[1] .. id, 'order', 'state', 'revision', 'life')
  if record[1] then
    local since, noticed = since_when()
    return {text(now_ms()), record[1], record[2], record[3], record[4] == current and '' or since, noticed,
      unpack(redis.call('HGETALL', KEYS[6]))}
  end
  leave_lane(KEYS[1], KEYS[2], KEYS[3], KEYS[4], id, ARGV[2], now_ms())
end
`);

/**
 * KEYS: awaiting, lane. ARGV: how many of each, prefix of send keys. Answers the ids of the sends that a message of the
 * recipient may be: those whose POST began, and those of the lane whose POST may have been forgotten.
 */
export const awaitingSends = new RedisScript(`${REDIS_LIFE}
local ids = redis.call('ZRANGE', KEYS[1], -ARGV[1], -1)
local current = life()
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, ARGV[1] - 1)) do
  local here = redis.call('HGET', ARGV[2] .. id, 'life') == current
  if not here and not redis.call('ZSCORE', KEYS[1], id) then ids[#ids + 1] = id end
end
return ids
`);

/** KEYS: due. ARGV: how many. */
export const dueMembers = new RedisScript(`${NOW}
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now_ms()), 'LIMIT', 0, ARGV[1])
`);

/**
 * KEYS: a set of what is due when, whose members end with the id of a send. ARGV: how many, prefix of send keys. Answers
 * each member that is due, the id, and the order, state and revision of its send, or '' for those if it is gone.
 */
export const dueSends = new RedisScript(`${NOW}
local sends = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now_ms()), 'LIMIT', 0, ARGV[1])) do
  local id = string.match(member, '%S+$')
  local record = redis.call('HMGET', ARGV[2] .. id, 'order', 'state', 'revision')
  sends[#sends + 1] = {member, id, record[1] or '', record[2] or '', record[3] or ''}
end
return sends
`);

/** KEYS: lanes due. ARGV: how many. Makes lanes due that wait; answers which. */
export const releaseLanes = new RedisScript(`${NOW}
local now = text(now_ms())
local lanes = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'LIMIT', 0, ARGV[1])
for _, recipient in ipairs(lanes) do redis.call('ZADD', KEYS[1], 'XX', now, recipient) end
return lanes
`);

/** KEYS: lanes due, lane. ARGV: recipient, ms, id. Answers 0 if that send is not the lane's head: its wait is not the lane's. */
export const postponeLane = new RedisScript(`${NOW}
if redis.call('LINDEX', KEYS[2], 0) ~= ARGV[3] then return 0 end
redis.call('ZADD', KEYS[1], 'XX', text(now_ms() + ARGV[2]), ARGV[1])
return 1
`);

/**
 * Moves scheduled sends into their lanes, all in one step, but for those that changed since they were read; and drops
 * what waits for a time without being a scheduled send, such as one whose record is gone: it would be due for ever.
 * KEYS: scheduled, lane keys ×3, the sets of the status before and after. ARGV: prefix of send keys, prefix of lanes, what
 * is to be dropped as JSON (each as the set has it, its id, and its revision or ''), then each send's id, revision,
 * recipient and state. Answers the recipients.
 */
export const promoteSends = new RedisScript(`${NOW}${LANES}
local now, recipients = now_ms(), {}
for _, stray in ipairs(cjson.decode(ARGV[3])) do
  if (redis.call('HGET', ARGV[1] .. stray[2], 'revision') or '') == stray[3] then
    redis.call('ZREM', KEYS[1], stray[1])
  end
end
for i = 4, #ARGV, 4 do
  local id, recipient = ARGV[i], ARGV[i + 2]
  local send = ARGV[1] .. id
  if redis.call('HGET', send, 'revision') == ARGV[i + 1] then
    redis.call('HSET', send, 'state', ARGV[i + 3], 'revision', ARGV[i + 1] + 1, 'nonce', '')
    redis.call('ZREM', KEYS[1], scheduled_as(send, id))
    join_lane(ARGV[2] .. recipient, KEYS[2], KEYS[3], KEYS[4], id, recipient, now)
    redis.call('ZREM', KEYS[5], id)
    redis.call('ZADD', KEYS[6], redis.call('HGET', send, 'place'), id)
    recipients[#recipients + 1] = recipient
  end
end
return recipients
`);

/** KEYS: a sorted set by time. Answers in how many ms the first of it is due, or ''. */
export const nextDue = new RedisScript(`${NOW}
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return first[2] and text(math.max(first[2] - now_ms(), 0)) or ''
`);

/**
 * Sends whose end may have come: those that expire, and those that are in a lane for too long.
 * KEYS: expiring, lanes since. ARGV: longest time in a lane in ms, how many of each, prefix of send keys. Answers the time,
 * then each one's id, order, state and revision, or '' for those if it is gone.
 */
export const endingSends = new RedisScript(`${NOW}
local now, sends, met = now_ms(), {}, {}
local function add(set, until_ms)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', text(until_ms), 'LIMIT', 0, ARGV[2])) do
    if not met[id] then
      met[id] = true
      local record = redis.call('HMGET', ARGV[3] .. id, 'order', 'state', 'revision')
      sends[#sends + 1] = {id, record[1] or '', record[2] or '', record[3] or ''}
    end
  end
end
add(KEYS[1], now)
add(KEYS[2], now - ARGV[1])
return {text(now), sends}
`);

/**
 * Forgets when sends expire that cannot any more, but for those that changed since they were read; one that is queued
 * again is remembered again. KEYS: expiring. ARGV: prefix of send keys, (id, revision or '')….
 */
export const forgetExpiries = new RedisScript(`
for i = 2, #ARGV, 2 do
  if (redis.call('HGET', ARGV[1] .. ARGV[i], 'revision') or '') == ARGV[i + 1] then
    redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return 1
`);
