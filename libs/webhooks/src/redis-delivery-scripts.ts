import { RedisScript } from '#platform';

/**
 * Every script gets the account's key prefix (`…:{account}:`) as its first argument: which deliveries it touches is
 * known only while it runs, and all of them share the account's slot.
 */
const COMMON = `
local BASE = ARGV[1]
local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

local function whole(number) return string.format('%d', number) end
local function delivery(id) return BASE .. 'delivery:' .. id end
local function due(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':due' end
local function inflight(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':inflight' end
local WEBHOOKS, AGENDA, FINISHED = BASE .. 'webhooks', BASE .. 'webhooks:due', BASE .. 'deliveries:finished'

-- Writes down when somebody must look at the endpoint again, whatever happens to the processes at work on it: when
-- the first lease ends, or, with a slot free, when the first delivery is due.
local function note(endpoint, slots)
  local first = tonumber(redis.call('ZRANGE', due(endpoint), 0, 0, 'WITHSCORES')[2])
  local at = tonumber(redis.call('ZRANGE', inflight(endpoint), 0, 0, 'WITHSCORES')[2])
  if first and redis.call('ZCARD', inflight(endpoint)) < slots then at = math.min(at or first, first) end
  if at then redis.call('ZADD', AGENDA, whole(at), endpoint) else redis.call('ZREM', AGENDA, endpoint) end
end

local function return_expired(endpoint)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', inflight(endpoint), '-inf', whole(NOW), 'LIMIT', 0, 1000)) do
    redis.call('ZREM', inflight(endpoint), id)
    redis.call('HDEL', delivery(id), 'claim')
    redis.call('HSET', delivery(id), 'nextAttemptAt', whole(NOW))
    redis.call('ZADD', due(endpoint), whole(NOW), id)
  end
end

local function finish(id, status, reason)
  redis.call('HSET', delivery(id), 'status', status, 'reason', reason, 'finishedAt', whole(NOW))
  redis.call('HDEL', delivery(id), 'body', 'claim', 'nextAttemptAt')
  redis.call('ZADD', FINISHED, whole(NOW), id)
end
`;

const script = (source: string): RedisScript => new RedisScript(COMMON + source);

/** ARGV: base, number of events, four per event (id, type, contact, body), three per delivery (id, endpoint, event). */
export const CREATE = script(`
local events = tonumber(ARGV[2])
for i = 3 + events * 4, #ARGV, 3 do
  local id, endpoint, event = ARGV[i], ARGV[i + 1], 3 + (tonumber(ARGV[i + 2]) * 4)
  if redis.call('HEXISTS', WEBHOOKS, endpoint) == 1 and redis.call('EXISTS', delivery(id)) == 0 then
    redis.call('HSET', delivery(id), 'status', 'pending', 'endpoint', endpoint, 'attempts', 0,
      'event', ARGV[event], 'type', ARGV[event + 1], 'contact', ARGV[event + 2], 'body', ARGV[event + 3],
      'createdAt', whole(NOW), 'nextAttemptAt', whole(NOW))
    redis.call('ZADD', due(endpoint), whole(NOW), id)
    redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
  end
end
`);

/**
 * ARGV: base, endpoint, slots, most to claim, lease in ms, claim.
 * Answers nil for an endpoint that is removed or disabled, else the endpoint, whether more could be claimed, and four
 * values per delivery: id, event, attempts, body.
 */
export const CLAIM = script(`
local endpoint, slots, room, lease, claim = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local record = redis.call('HGET', WEBHOOKS, endpoint)
if not record or not cjson.decode(record).enabled then return nil end
return_expired(endpoint)
local free = slots - redis.call('ZCARD', inflight(endpoint))
local reply, claimed = {record, 0}, 0
if free > 0 then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', due(endpoint), '-inf', whole(NOW), 'LIMIT', 0, math.min(free, room))) do
    local stored = redis.call('HMGET', delivery(id), 'status', 'event', 'attempts', 'body')
    redis.call('ZREM', due(endpoint), id)
    if stored[1] == 'pending' then
      redis.call('ZADD', inflight(endpoint), whole(NOW + lease), id)
      redis.call('HSET', delivery(id), 'claim', claim)
      redis.call('HDEL', delivery(id), 'nextAttemptAt')
      claimed = claimed + 1
      for _, value in ipairs({id, stored[2], stored[3], stored[4]}) do reply[#reply + 1] = value end
    end
  end
  if claimed < free and redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 then reply[2] = 1 end
end
note(endpoint, slots)
return reply
`);

/**
 * ARGV: base, endpoint, slots, delivery, claim, attempt as JSON, status, wait in ms, reason.
 * Answers whether it was recorded and whether more is due at the endpoint.
 */
export const SETTLE = script(`
local endpoint, slots, id, claim, attempt = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local status, wait, reason = ARGV[7], tonumber(ARGV[8]), ARGV[9]
local recorded = 0
if redis.call('HGET', delivery(id), 'claim') == claim then
  recorded = 1
  redis.call('HSET', delivery(id), 'attempt:' .. redis.call('HINCRBY', delivery(id), 'attempts', 1), attempt)
  redis.call('HDEL', delivery(id), 'claim')
  redis.call('ZREM', inflight(endpoint), id)
  if status == 'pending' then
    redis.call('HSET', delivery(id), 'nextAttemptAt', whole(NOW + wait))
    redis.call('ZADD', due(endpoint), whole(NOW + wait), id)
  else
    finish(id, status, reason)
  end
  note(endpoint, slots)
end
return {recorded, redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 and 1 or 0}
`);

/** ARGV: base, endpoint, slots, delivery, claim. */
export const RELEASE = script(`
local endpoint, slots, id, claim = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
if redis.call('HGET', delivery(id), 'claim') == claim then
  redis.call('HDEL', delivery(id), 'claim')
  redis.call('HSET', delivery(id), 'nextAttemptAt', whole(NOW))
  redis.call('ZREM', inflight(endpoint), id)
  redis.call('ZADD', due(endpoint), whole(NOW), id)
  note(endpoint, slots)
end
`);

/**
 * Ends what is pending at an endpoint that was removed, or what waits at one that is disabled: its attempts under way
 * come to their own end. ARGV: base, endpoint, most to end. Answers how many were ended.
 */
export const END_PENDING = script(`
local endpoint, most = ARGV[2], tonumber(ARGV[3])
local record = redis.call('HGET', WEBHOOKS, endpoint)
local reason = 'The endpoint was removed.'
if record then
  local stored = cjson.decode(record)
  if stored.enabled then return 0 end
  reason = 'The endpoint is disabled.'
  if type(stored.disabledReason) == 'string' then reason = reason .. ' ' .. stored.disabledReason end
  return_expired(endpoint)
end
local function end_some(set, limit)
  if limit == 0 then return 0 end
  local ids = redis.call('ZRANGE', set, 0, limit - 1)
  for _, id in ipairs(ids) do
    finish(id, 'failed', reason)
    redis.call('ZREM', set, id)
  end
  return #ids
end
local ended = end_some(due(endpoint), most)
if not record then ended = ended + end_some(inflight(endpoint), most - ended) end
note(endpoint, math.huge)
return ended
`);

/** ARGV: base, how many to pass over, most. Answers endpoints that must be looked at, the longest overdue first. */
export const OVERDUE = script(`
local first, count = ARGV[2], ARGV[3]
return redis.call('ZRANGEBYSCORE', AGENDA, '-inf', whole(NOW), 'LIMIT', first, count)
`);

/** ARGV: base, oldest age in ms, most to keep, most to remove. Answers how many were removed. */
export const TRIM = script(`
local oldest, excess = NOW - tonumber(ARGV[2]), redis.call('ZCARD', FINISHED) - tonumber(ARGV[3])
local entries = redis.call('ZRANGE', FINISHED, 0, tonumber(ARGV[4]) - 1, 'WITHSCORES')
local removed = 0
for i = 1, #entries, 2 do
  if removed >= excess and tonumber(entries[i + 1]) >= oldest then break end
  redis.call('DEL', delivery(entries[i]))
  redis.call('ZREM', FINISHED, entries[i])
  removed = removed + 1
end
return removed
`);
