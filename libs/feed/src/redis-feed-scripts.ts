import { APPEND_EVENTS } from '#events';
import { RedisScript } from '#platform';

const NOW = `
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function due_at(ms) return string.format('%d', now_ms() + tonumber(ms)) end
`;

/**
 * One poll: the fence, what is known, the schedule, and the events, or nothing at all.
 * KEYS: log ×3, contact, messages, due, list, numbers.
 * ARGV: contact id, version, order, weight, weight at, share, due in ms, hastened, number of messages, (id, packed)…,
 * number of phone numbers, numbers…, then the events.
 */
export const commitPoll = new RedisScript(`${APPEND_EVENTS}${NOW}
local contact, messages, due, list, numbers = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
if redis.call('HGET', contact, 'version') ~= ARGV[2] then return 0 end
local at = 10
for _ = 1, tonumber(ARGV[9]) do
  redis.call('HSET', messages, ARGV[at], ARGV[at + 1])
  at = at + 2
end
local count = tonumber(ARGV[at])
for i = at + 1, at + count do redis.call('HSET', numbers, ARGV[i], ARGV[1]) end
local share = tonumber(redis.call('HGET', contact, 'share') or '0')
redis.call('HINCRBYFLOAT', list, 'shares', string.format('%.6f', tonumber(ARGV[6]) - share))
redis.call('HSET', contact, 'version', ARGV[2] + 1, 'order', ARGV[3], 'weight', ARGV[4], 'weightAt', ARGV[5], 'share', ARGV[6])
redis.call('HDEL', contact, 'tellAfter')
redis.call('ZADD', due, due_at(ARGV[7]), ARGV[1])
if (redis.call('HGET', contact, 'hastened') or '0') ~= ARGV[8] then
  redis.call('ZADD', due, 'LT', redis.call('HGET', contact, 'hastenedTo'), ARGV[1])
end
append_events(at + count + 1)
return 1
`);

/**
 * A part of a contact list with its fence. KEYS: log ×3, contacts, list, due, numbers, contact…
 * ARGV: version, listed at or '' (more parts follow), number of contacts, (id, raw, fingerprint, tellAfter or '', event or not, its revision,
 * number of numbers, numbers…)…, then the events.
 */
export const commitContacts = new RedisScript(`${APPEND_EVENTS}${NOW}
local contacts, list, due, numbers = KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local now = due_at(0)
if (redis.call('HGET', list, 'version') or '0') ~= ARGV[1] then return 0 end
local at = 4
for i = 1, tonumber(ARGV[3]) do
  local id, raw, fingerprint, tell_after, revision = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local contact = KEYS[7 + i]
  redis.call('HSET', contacts, id, fingerprint)
  redis.call('HSET', contact, 'raw', raw, 'revision', revision)
  if redis.call('HSETNX', contact, 'version', 0) == 1 then
    redis.call('HSET', contact, 'tellAfter', tell_after)
  end
  redis.call('HINCRBY', contact, 'hastened', 1)
  redis.call('HSET', contact, 'hastenedTo', now)
  redis.call('ZADD', due, 'LT', now, id)
  local count = tonumber(ARGV[at + 5])
  for n = at + 6, at + 5 + count do redis.call('HSET', numbers, ARGV[n], id) end
  at = at + 6 + count
end
-- A list that says nothing new puts nobody else's reading in doubt.
if tonumber(ARGV[3]) > 0 then redis.call('HSET', list, 'version', ARGV[1] + 1) end
if ARGV[2] ~= '' then redis.call('HSET', list, 'listedAt', ARGV[2]) end
append_events(at)
return 1
`);

/** KEYS: list. Answers whether somebody wished for a reading of the list since the last time. */
export const takeListWish = new RedisScript(`
return redis.call('HDEL', KEYS[1], 'wished')
`);

/** KEYS: due. ARGV: how many, lease in ms. */
export const claimDue = new RedisScript(`${NOW}
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', due_at(0), 'LIMIT', 0, ARGV[1])
for _, id in ipairs(ids) do redis.call('ZADD', KEYS[1], due_at(ARGV[2]), id) end
return ids
`);

/** KEYS: due, contact. ARGV: contact id, ms. Only contacts that are scheduled. */
export const hasten = new RedisScript(`${NOW}
local at = due_at(ARGV[2])
redis.call('HINCRBY', KEYS[2], 'hastened', 1)
redis.call('HSET', KEYS[2], 'hastenedTo', at)
return redis.call('ZADD', KEYS[1], 'XX', 'LT', at, ARGV[1])
`);

/** KEYS: due. ARGV: contact id, ms. Only contacts that are scheduled. */
export const postpone = new RedisScript(`${NOW}
return redis.call('ZADD', KEYS[1], 'XX', due_at(ARGV[2]), ARGV[1])
`);
