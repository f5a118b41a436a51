import { APPEND_EVENTS } from '#events';
import { REDIS_LIFE, RedisScript } from '#platform';
import { RECORD_REPORT } from '../delay/redis-poll-report.js';
import { NOTE_NUMBER } from './redis-recipients.js';

/** An account has had few addresses; beyond so many they are forgotten. */
const MAX_ADDRESSES = 100;

export const NOW = `
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function due_at(ms) return string.format('%d', now_ms() + tonumber(ms)) end
`;

/**
 * The fields of a contact's record have short names, for there are as many of each as contacts, and so have its two
 * keys, `c` (the record) and `m` (the messages): `v` version, `b` bucket of its rate, `m0`… memory and `r0`… raw (in pieces, see
 * below), `x0`… extension, `rev` its revision; for a while `tellAfter`, `hastened`, `hastenedTo` and `lost`.
 *
 * Longer texts stand in several fields. Redis keeps a small hash in a compact form, at a fraction of the cost, as long as
 * none of its values is longer than 64 bytes (by default); one of 63 has a shorter head. A text of many pieces would have
 * too many fields for that form, and stands in one.
 */
const TEXTS = `
local function put_text(key, field, text)
  local size = #text > 512 and #text or 63
  local n = 0
  for from = 1, #text, size do
    redis.call('HSET', key, field .. n, string.sub(text, from, from + size - 1))
    n = n + 1
  end
  while redis.call('HDEL', key, field .. n) == 1 do n = n + 1 end
end
local function get_text(key, field)
  local pieces = {}
  local piece = redis.call('HGET', key, field .. 0)
  while piece do
    pieces[#pieces + 1] = piece
    piece = redis.call('HGET', key, field .. #pieces)
  end
  return table.concat(pieces)
end
`;

/** The account's contacts by how often they change: one more in this bucket, or in none for ''. */
const RATES = `
local function count_rate(contact, rates, bucket)
  local before = redis.call('HGET', contact, 'b') or ''
  if before == bucket then return end
  if before ~= '' and redis.call('HINCRBY', rates, before, -1) < 1 then redis.call('HDEL', rates, before) end
  if bucket == '' then redis.call('HDEL', contact, 'b')
  else
    redis.call('HINCRBY', rates, bucket, 1)
    redis.call('HSET', contact, 'b', bucket)
  end
end
`;

/** The floor of revisions: in another life of Redis the last events may be lost, and with them what revisions they had. */
const FLOOR = `${REDIS_LIFE}
local function revision_floor(list)
  local current, former = life(), redis.call('HGET', list, 'life')
  if former ~= current then
    if former then redis.call('HSET', list, 'revisionFloor', redis.call('TIME')[1]) end
    redis.call('HSET', list, 'life', current)
  end
  return redis.call('HGET', list, 'revisionFloor') or '0'
end
`;

/**
 * KEYS: list, upstreams. Answers time, floor of revisions, life of Redis, version, listedAt, suspectSince, believedAt, suspectAt, the
 * number of contacts at the last list, how many elements could not be read in the last one that missed nobody, whose list
 * it was, what is remembered of unreadable elements, and which service each address is of.
 */
export const readList = new RedisScript(`${NOW}${FLOOR}
local list = redis.call('HMGET', KEYS[1], 'version', 'listedAt', 'suspectSince', 'believedAt', 'suspectAt', 'count', 'skipped',
  'upstream', 'unreadableListed')
local reply = {due_at(0), revision_floor(KEYS[1]), life(), unpack(list)}
reply[#reply + 1] = redis.call('HGETALL', KEYS[2])
return reply
`);

/**
 * What is remembered of a contact. One that the list knows, and whose own record is gone, is taken up again as lost.
 * KEYS: contact, messages, list, contacts, log, counters. ARGV: contact id.
 * Answers time, version, memory, tellAfter, hastened, believedAt, number of messages, epoch, lost,
 * suspectSince, suspectAt and shownAt of the list, number of contacts, the floor of revisions, the life of Redis, polls
 * that failed in a row, the account's longest page, and the extension.
 */
export const readContact = new RedisScript(`${NOW}${TEXTS}${FLOOR}
if redis.call('EXISTS', KEYS[1]) == 0 and redis.call('HEXISTS', KEYS[4], ARGV[1]) == 1 then
  -- Both go on above all that were used before.
  local second = redis.call('TIME')[1]
  redis.call('HSET', KEYS[1], 'v', second, 'lost', 1, 'r0', '{}', 'rev', second)
end
local state = redis.call('HMGET', KEYS[1], 'v', 'tellAfter', 'hastened', 'lost', 'failed')
if not state[1] then return {} end
local list = redis.call('HMGET', KEYS[3], 'believedAt', 'suspectSince', 'suspectAt', 'shownAt', 'longestPage')
-- Counters that know of events, beside a log that is not there: the log was lost.
local epoch = redis.call('HGET', KEYS[6], 'epoch') or ''
if redis.call('HEXISTS', KEYS[6], 'last') == 1 and redis.call('EXISTS', KEYS[5]) == 0 then epoch = '' end
return {due_at(0), state[1], get_text(KEYS[1], 'm'), state[2] or '', state[3] or '0',
  list[1] or '', redis.call('HLEN', KEYS[2]), epoch, state[4] or '',
  list[2] or '', list[3] or '', list[4] or '', redis.call('HLEN', KEYS[4]),
  revision_floor(KEYS[3]), life(), state[5] or '0', list[5] or '0', get_text(KEYS[1], 'x')}
`);

/**
 * One reading: the fence, what is known, the schedule, and the events, or nothing at all.
 * KEYS: log ×3, contact, messages, due, list, numbers, suspects, deep, rates, the two of the report, and the numbers' others.
 * The fence is the version, in the life of Redis in which it was read: another life counts on from an earlier version.
 * ARGV: contact id, version, memory ('' leaves it and the version as they are), bucket of its rate or '', due in ms or '',
 * hastened, afresh ('yes', ''), suspectAt or '', shownAt or '', number of elements that were newly found unreadable, number of
 * messages, life, since when it is suspect, '' or 'over', extension or 'unchanged', baseline (time after which messages are
 * emitted, 'unchanged', 'over'), deep reading ('new', 'anew', 'unchanged', 'over'), when it is due in ms, a page longer than
 * the account's longest or '', (id, packed)…, number of phone numbers, numbers…, the report, then the events.
 */
export const commitPoll =
  new RedisScript(`${APPEND_EVENTS}${NOW}${TEXTS}${RATES}${REDIS_LIFE}${RECORD_REPORT}${NOTE_NUMBER}
local contact, messages, due, list = KEYS[4], KEYS[5], KEYS[6], KEYS[7]
if redis.call('HGET', contact, 'v') ~= ARGV[2] then return 0 end
if life() ~= ARGV[12] then return 0 end
if ARGV[7] == 'yes' then redis.call('DEL', messages) end
if ARGV[8] ~= '' then redis.call('HSET', list, 'suspectAt', ARGV[8]) end
if ARGV[9] ~= '' then redis.call('HSET', list, 'shownAt', ARGV[9]) end
if ARGV[10] ~= '0' then redis.call('HINCRBY', list, 'unreadable', ARGV[10]) end
if ARGV[13] == 'over' then redis.call('HDEL', KEYS[9], ARGV[1])
elseif ARGV[13] ~= '' then redis.call('HSET', KEYS[9], ARGV[1], ARGV[13]) end
if ARGV[18] ~= '' and tonumber(ARGV[18]) > tonumber(redis.call('HGET', list, 'longestPage') or 0) then
  redis.call('HSET', list, 'longestPage', ARGV[18])
end
local at = 19
for _ = 1, tonumber(ARGV[11]) do
  redis.call('HSET', messages, ARGV[at], ARGV[at + 1])
  at = at + 2
end
local count = tonumber(ARGV[at])
for i = at + 1, at + count do note_number(KEYS[8], KEYS[14], ARGV[i], ARGV[1], true) end
if ARGV[3] ~= '' then
  redis.call('HSET', contact, 'v', ARGV[2] + 1)
  put_text(contact, 'm', ARGV[3])
end
if ARGV[14] ~= 'unchanged' then put_text(contact, 'x', ARGV[14]) end
redis.call('HDEL', contact, 'lost', 'failed')
if ARGV[15] == 'over' then redis.call('HDEL', contact, 'tellAfter')
elseif ARGV[15] ~= 'unchanged' then redis.call('HSET', contact, 'tellAfter', ARGV[15]) end
-- A contact that was deleted meanwhile is not scheduled any more.
local scheduled = redis.call('ZSCORE', due, ARGV[1])
if not scheduled or ARGV[16] == 'over' then redis.call('ZREM', KEYS[10], ARGV[1])
elseif ARGV[16] == 'new' then redis.call('ZADD', KEYS[10], 'NX', due_at(ARGV[17]), ARGV[1])
elseif ARGV[16] == 'anew' then redis.call('ZADD', KEYS[10], due_at(ARGV[17]), ARGV[1]) end
if ARGV[5] ~= '' then
  if scheduled then
    count_rate(contact, KEYS[11], ARGV[4])
    redis.call('ZADD', due, due_at(ARGV[5]), ARGV[1])
    if (redis.call('HGET', contact, 'hastened') or '0') ~= ARGV[6] then
      redis.call('ZADD', due, 'LT', redis.call('HGET', contact, 'hastenedTo'), ARGV[1])
    end
  end
  -- Honoured: whatever else is under way began before this commit, and will be refused; unless the version stays.
  if ARGV[3] ~= '' then redis.call('HDEL', contact, 'hastened', 'hastenedTo') end
end
append_events(record_report(KEYS[12], KEYS[13], at + count + 1))
return 1
`);

/**
 * A part of a contact list with its fence. KEYS: log ×3, contacts, list, due, numbers, their others, suspects, deep, rates,
 * upstreams, contact…. ARGV: version, listed at or '' (more parts follow), suspect since or '', number of contacts, life,
 * skipped, when the reading began, the stamp of the address that was read, the one of the first address of the same
 * service, what is remembered of unreadable elements, (id, listed, raw or '', tellAfter or '', revision or '', present ('yes', ''), number of numbers, numbers…)…, then the events.
 */
export const commitContacts =
  new RedisScript(`${APPEND_EVENTS}${NOW}${TEXTS}${RATES}${REDIS_LIFE}${NOTE_NUMBER}
local contacts, list, due = KEYS[4], KEYS[5], KEYS[6]
local now = due_at(0)
if (redis.call('HGET', list, 'version') or '0') ~= ARGV[1] then return 0 end
if life() ~= ARGV[5] then return 0 end
-- Before the first contact of another service is known, or the next list would take it for the same.
if redis.call('HEXISTS', KEYS[12], ARGV[8]) == 0 then
  if redis.call('HLEN', KEYS[12]) >= ${MAX_ADDRESSES} then redis.call('DEL', KEYS[12]) end
  redis.call('HSET', KEYS[12], ARGV[8], ARGV[9])
end
local at = 11
for i = 1, tonumber(ARGV[4]) do
  local id, raw, tell_after, revision, present = ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
  local contact = KEYS[12 + i]
  redis.call('HSET', contacts, id, ARGV[at + 1])
  if revision ~= '' then redis.call('HSET', contact, 'rev', revision) end
  if raw ~= '' then put_text(contact, 'r', raw) end
  if present == 'yes' then
    if redis.call('HSETNX', contact, 'v', 0) == 1 then redis.call('HSET', contact, 'tellAfter', tell_after) end
    if raw ~= '' or not redis.call('ZSCORE', due, id) then
      redis.call('HINCRBY', contact, 'hastened', 1)
      redis.call('HSET', contact, 'hastenedTo', now)
      redis.call('ZADD', due, 'LT', now, id)
    end
  else
    redis.call('ZREM', due, id)
    redis.call('HDEL', KEYS[9], id)
    redis.call('ZREM', KEYS[10], id)
    count_rate(contact, KEYS[11], '')
  end
  local count = tonumber(ARGV[at + 6])
  for n = at + 7, at + 6 + count do note_number(KEYS[7], KEYS[8], ARGV[n], id, false) end
  at = at + 7 + count
end
-- A list that says nothing new puts nobody else's reading in doubt.
if tonumber(ARGV[4]) > 0 or #ARGV > at + 1 then redis.call('HSET', list, 'version', ARGV[1] + 1) end
if ARGV[2] ~= '' then
  redis.call('HSET', list, 'listedAt', ARGV[2], 'skipped', ARGV[6], 'readAt', ARGV[7], 'upstream', ARGV[8], 'unreadableListed', ARGV[10])
  redis.call('HDEL', list, 'listFault', 'listFaultSince')
  if ARGV[3] ~= '' then redis.call('HSET', list, 'suspectSince', ARGV[3], 'suspectAt', now)
  else redis.call('HDEL', list, 'suspectSince') end
  redis.call('HSET', list, 'count', redis.call('HLEN', contacts))
end
append_events(at)
return 1
`);

/** KEYS: list. ARGV: why the list could not be read. */
export const noteListFault = new RedisScript(`${NOW}
redis.call('HSETNX', KEYS[1], 'listFaultSince', due_at(0))
return redis.call('HSET', KEYS[1], 'listFault', ARGV[1])
`);

/** KEYS: contact. Answers its text and its revision, or nothing. */
export const readContactRecord = new RedisScript(`${TEXTS}
local text = get_text(KEYS[1], 'r')
if text == '' then return {} end
return {text, redis.call('HGET', KEYS[1], 'rev') or '0'}
`);

/** KEYS: list. Answers whether somebody wished for a reading of the list since the last time. */
export const takeListWish = new RedisScript(`
return redis.call('HDEL', KEYS[1], 'wished')
`);

/** KEYS: rates, due. Answers the buckets with their counts, and how many contacts are polled. */
export const readRates = new RedisScript(`
return {redis.call('HGETALL', KEYS[1]), redis.call('ZCARD', KEYS[2])}
`);

/** KEYS: due, contact. ARGV: contact id, ms. Only contacts that are scheduled. */
export const hasten = new RedisScript(`${NOW}
local at = due_at(ARGV[2])
redis.call('HINCRBY', KEYS[2], 'hastened', 1)
redis.call('HSET', KEYS[2], 'hastenedTo', at)
return redis.call('ZADD', KEYS[1], 'XX', 'LT', at, ARGV[1])
`);

/** KEYS: list. */
export const believeDeletions = new RedisScript(`${NOW}
return redis.call('HSET', KEYS[1], 'believedAt', due_at(0))
`);
