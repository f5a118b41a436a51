import { APPEND_EVENTS } from '#events';
import { REDIS_LIFE, RedisScript } from '#platform';

const NOW = `
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function text(ms) return string.format('%d', ms) end
`;

/**
 * What an idempotency key holds: `~` and the owner of a reservation, or the fingerprint of a body and the id of its send.
 */
const IDEMPOTENCY = `
local function recall(taken, fingerprint, owner)
  if not taken then return owner ~= '' and 'busy' or nil end
  if string.sub(taken, 1, 1) == '~' then
    if taken == '~' .. owner then return nil end
    return 'busy'
  end
  local first, id = string.match(taken, '^(%w+) (.+)$')
  return first == fingerprint and id or 'reused'
end
`;

/**
 * Stores a send once, with the life of Redis in which that was; one that is stored already, whose answer was lost with
 * the connection, is left as it is. A key whose reservation is over is not taken any more: another request may have it.
 * KEYS: send, lane, lanes due, scheduled, idempotency (or any key, if there is none).
 * ARGV: id, order, state, recipient, send at in ms or '', fingerprint or '', lifetime of the idempotency key in ms, owner
 * of its reservation or ''.
 * Answers 'new', 'reused', 'busy', or the id of the send that the idempotency key already has.
 */
export const insertSend = new RedisScript(`${NOW}${REDIS_LIFE}${IDEMPOTENCY}
if redis.call('EXISTS', KEYS[1]) == 1 then return 'new' end
if ARGV[6] ~= '' then
  local earlier = recall(redis.call('GET', KEYS[5]), ARGV[6], ARGV[8])
  if earlier then return earlier end
  redis.call('SET', KEYS[5], ARGV[6] .. ' ' .. ARGV[1], 'PX', ARGV[7])
end
redis.call('HSET', KEYS[1], 'order', ARGV[2], 'state', ARGV[3], 'revision', 0, 'life', life())
if ARGV[5] ~= '' then
  redis.call('ZADD', KEYS[4], ARGV[5], ARGV[1])
else
  redis.call('RPUSH', KEYS[2], ARGV[1])
  redis.call('ZADD', KEYS[3], 'NX', text(now_ms()), ARGV[4])
end
return 'new'
`);

/** KEYS: idempotency. ARGV: fingerprint, owner or ''. Answers as {@link insertSend}, or '' where that would store. */
export const recallKey = new RedisScript(`${IDEMPOTENCY}
return recall(redis.call('GET', KEYS[1]), ARGV[1], ARGV[2]) or ''
`);

/** KEYS: idempotency. ARGV: owner, ms. Answers 0 if another has it. */
export const reserveKey = new RedisScript(`
local taken = redis.call('GET', KEYS[1])
if not taken or taken == '~' .. ARGV[1] then
  redis.call('SET', KEYS[1], '~' .. ARGV[1], 'PX', ARGV[2])
  return 1
end
return string.sub(taken, 1, 1) == '~' and 0 or 1
`);

/** KEYS: idempotency. ARGV: owner. */
export const releaseKey = new RedisScript(`
if redis.call('GET', KEYS[1]) == '~' .. ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`);

/** Needs {@link NOW}. */
const LANES = `
local function join_lane(lane, lanes, id, recipient, now)
  redis.call('RPUSH', lane, id)
  redis.call('ZADD', lanes, 'NX', text(now), recipient)
end
local function leave_lane(lane, lanes, id, recipient, now)
  if redis.call('LREM', lane, 1, id) == 0 then return end
  if redis.call('EXISTS', lane) == 1 then redis.call('ZADD', lanes, text(now), recipient)
  else redis.call('ZREM', lanes, recipient) end
end
`;

/**
 * One step of a send, or nothing if it changed since it was read, or the message is another send's. A step that was
 * taken already, whose answer was lost with the connection, is known by its nonce.
 * KEYS: log ×3, send, lane, lanes due, awaiting, confirms, scheduled, finished, claims.
 * ARGV: id, revision, state, recipient, place before and after ('schedule', 'lane', 'shelf'), lane due in ms or '',
 * awaiting ('yes', 'no'), confirm in ms, 'never' or '', message id or '', what its claim says, nonce, life ('same': only in the one that the
 * send carries; 'this': it carries this one from now on; ''), then the events.
 */
export const transitSend = new RedisScript(`${APPEND_EVENTS}${NOW}${REDIS_LIFE}${LANES}
local send, lane, lanes, awaiting, confirms = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local scheduled, finished, claims = KEYS[9], KEYS[10], KEYS[11]
local id, recipient, before, after = ARGV[1], ARGV[4], ARGV[5], ARGV[6]
if redis.call('HGET', send, 'revision') ~= ARGV[2] then
  return redis.call('HGET', send, 'nonce') == ARGV[12] and 1 or 0
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
  if before == 'schedule' then redis.call('ZREM', scheduled, id)
  elseif before == 'lane' then leave_lane(lane, lanes, id, recipient, now)
  else redis.call('ZREM', finished, id) end
  if after == 'lane' then join_lane(lane, lanes, id, recipient, now) end
end
if after == 'shelf' then redis.call('ZADD', finished, text(now), id) end
if ARGV[7] ~= '' then redis.call('ZADD', lanes, 'XX', text(now + ARGV[7]), recipient) end
if ARGV[8] == 'yes' then redis.call('ZADD', awaiting, 'NX', text(now), id)
else redis.call('ZREM', awaiting, id) end
if ARGV[9] == 'never' then redis.call('ZREM', confirms, id)
elseif ARGV[9] ~= '' then redis.call('ZADD', confirms, text(now + ARGV[9]), id) end
append_events(14)
return 1
`);

/**
 * Removes finished sends with all that is kept of them, but for those that changed since they were read.
 * KEYS: finished, confirms, claims. ARGV: prefix of send keys, prefix of awaiting keys, ids of sends that are gone, then
 * each send as JSON. Answers the ids of those that it removed.
 */
export const trimSends = new RedisScript(`
local finished, confirms, claims = KEYS[1], KEYS[2], KEYS[3]
for _, id in ipairs(cjson.decode(ARGV[3])) do redis.call('ZREM', finished, id) end
local removed = {}
for i = 4, #ARGV do
  local send = cjson.decode(ARGV[i])
  local key = ARGV[1] .. send.id
  if redis.call('HGET', key, 'revision') == send.revision then
    redis.call('DEL', key)
    redis.call('ZREM', finished, send.id)
    redis.call('ZREM', confirms, send.id)
    redis.call('ZREM', ARGV[2] .. send.recipient, send.id)
    for _, claim in ipairs(send.claims) do redis.call('HDEL', claims, claim) end
    removed[#removed + 1] = send.id
  end
end
return removed
`);

/** KEYS: lane, lanes due. ARGV: id, recipient. */
export const clearLane = new RedisScript(`${NOW}${LANES}
leave_lane(KEYS[1], KEYS[2], ARGV[1], ARGV[2], now_ms())
return 1
`);

/**
 * KEYS: lane, life. ARGV: prefix of send keys. Answers the time, the head's order, state and revision, and since when
 * Redis lives another life than the one that the send carries, or ''. An id whose send is gone must not hold the lane up
 * for ever: it is dropped.
 */
export const laneHead = new RedisScript(`${NOW}${REDIS_LIFE}
local current = life()
if redis.call('HGET', KEYS[2], 'id') ~= current then
  redis.call('HSET', KEYS[2], 'id', current, 'since', text(now_ms()))
end
while true do
  local id = redis.call('LINDEX', KEYS[1], 0)
  if not id then return {} end
  local record = redis.call('HMGET', ARGV[1] .. id, 'order', 'state', 'revision', 'life')
  if record[1] then
    local since = record[4] == current and '' or redis.call('HGET', KEYS[2], 'since')
    return {text(now_ms()), record[1], record[2], record[3], since}
  end
  redis.call('LPOP', KEYS[1])
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

/** KEYS: lanes due. ARGV: how many. Makes lanes due that wait; answers which. */
export const releaseLanes = new RedisScript(`${NOW}
local now = text(now_ms())
local lanes = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'LIMIT', 0, ARGV[1])
for _, recipient in ipairs(lanes) do redis.call('ZADD', KEYS[1], 'XX', now, recipient) end
return lanes
`);

/** KEYS: lanes due. ARGV: recipient, ms. */
export const postponeLane = new RedisScript(`${NOW}
return redis.call('ZADD', KEYS[1], 'XX', text(now_ms() + ARGV[2]), ARGV[1])
`);
