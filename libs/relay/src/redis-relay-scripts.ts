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
 * Stores a send once, with the life of Redis in which that was; one that is stored already, whose answer was lost with the connection, is left as it is. KEYS: send, lane, lanes due, scheduled, idempotency (or any key, if there is none).
 * ARGV: id, order, state, recipient, send at in ms or '', fingerprint or '', lifetime of the idempotency key in ms.
 * Answers 'new', 'reused', or the id of the send that the idempotency key already has.
 */
export const insertSend = new RedisScript(`${NOW}${REDIS_LIFE}
if redis.call('EXISTS', KEYS[1]) == 1 then return 'new' end
if ARGV[6] ~= '' then
  local taken = redis.call('GET', KEYS[5])
  if taken then
    local fingerprint, id = string.match(taken, '^(%w+) (.+)$')
    return fingerprint == ARGV[6] and id or 'reused'
  end
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

/**
 * One step of a send, or nothing if it changed since it was read, or the message is another send's. A step that was
 * taken already, whose answer was lost with the connection, is known by its nonce.
 * KEYS: log ×3, send, lane, lanes due, awaiting, confirms, scheduled, finished, claims.
 * ARGV: id, revision, state, recipient, lane ('leave', 'join', ''), lane due in ms or '', awaiting ('add', 'remove', ''),
 * confirm in ms, 'never' or '', unschedule ('yes', ''), finished ('yes', 'no'), message id or '', nonce, life ('same': only
 * in the one that the send carries; 'this': it carries this one from now on; ''), then the events.
 */
export const transitSend = new RedisScript(`${APPEND_EVENTS}${NOW}${REDIS_LIFE}
local send, lane, lanes, awaiting, confirms = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local scheduled, finished, claims = KEYS[9], KEYS[10], KEYS[11]
local id, recipient = ARGV[1], ARGV[4]
if redis.call('HGET', send, 'revision') ~= ARGV[2] then
  return redis.call('HGET', send, 'nonce') == ARGV[12] and 1 or 0
end
if ARGV[13] == 'same' and redis.call('HGET', send, 'life') ~= life() then return 0 end
if ARGV[11] ~= '' then
  local owner = redis.call('HGET', claims, ARGV[11])
  if owner and owner ~= id then return 0 end
  redis.call('HSET', claims, ARGV[11], id)
end
local now = now_ms()
redis.call('HSET', send, 'state', ARGV[3], 'revision', ARGV[2] + 1, 'nonce', ARGV[12])
if ARGV[13] == 'this' then redis.call('HSET', send, 'life', life()) end
if ARGV[5] == 'leave' then
  if redis.call('LREM', lane, 1, id) == 1 then
    if redis.call('EXISTS', lane) == 1 then redis.call('ZADD', lanes, text(now), recipient)
    else redis.call('ZREM', lanes, recipient) end
  end
elseif ARGV[5] == 'join' then
  redis.call('RPUSH', lane, id)
  redis.call('ZADD', lanes, 'NX', text(now), recipient)
end
if ARGV[6] ~= '' then redis.call('ZADD', lanes, 'XX', text(now + ARGV[6]), recipient) end
if ARGV[7] == 'add' then redis.call('ZADD', awaiting, 'NX', text(now), id)
elseif ARGV[7] == 'remove' then redis.call('ZREM', awaiting, id) end
if ARGV[8] == 'never' then redis.call('ZREM', confirms, id)
elseif ARGV[8] ~= '' then redis.call('ZADD', confirms, text(now + ARGV[8]), id) end
if ARGV[9] == 'yes' then redis.call('ZREM', scheduled, id) end
if ARGV[10] == 'yes' then redis.call('ZADD', finished, text(now), id) else redis.call('ZREM', finished, id) end
append_events(14)
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

/** KEYS: lanes due. ARGV: recipient, ms. */
export const postponeLane = new RedisScript(`${NOW}
return redis.call('ZADD', KEYS[1], 'XX', text(now_ms() + ARGV[2]), ARGV[1])
`);
