import { RedisScript } from '#platform';
import { DELIVERY_COMMON } from './redis-delivery-common.js';

const script = (source: string): RedisScript => new RedisScript(DELIVERY_COMMON + source);

/**
 * ARGV: base, endpoint, slots, most to claim, lease in ms, claim.
 * Answers nil for an endpoint that is removed or disabled, else the endpoint, whether more could be claimed, and four
 * values per delivery: id, event, attempts since it last became pending, body.
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
    local stored = redis.call('HMGET', delivery(id), 'status', 'event', 'attempts', 'body', 'earlier')
    redis.call('ZREM', due(endpoint), id)
    if stored[1] == 'pending' then
      redis.call('ZADD', inflight(endpoint), whole(NOW + lease), id)
      redis.call('HSET', delivery(id), 'claim', claim)
      redis.call('HDEL', delivery(id), 'nextAttemptAt')
      claimed = claimed + 1
      local attempts = tonumber(stored[3]) - tonumber(stored[5] or 0)
      for _, value in ipairs({id, stored[2], attempts, stored[4]}) do reply[#reply + 1] = value end
    end
  end
  if claimed < free and redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 then reply[2] = 1 end
end
note(endpoint, slots)
return reply
`);

/**
 * ARGV: base, endpoint, slots, delivery, claim, attempt as JSON, status, wait in ms, reason, most attempts to keep.
 * Answers whether it was recorded and whether more is due at the endpoint.
 */
export const SETTLE = script(`
local endpoint, slots, id, claim, attempt = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local status, wait, reason, kept = ARGV[7], tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10])
local recorded = 0
if redis.call('HGET', delivery(id), 'claim') == claim then
  recorded = 1
  local number = redis.call('HINCRBY', delivery(id), 'attempts', 1)
  redis.call('HSET', delivery(id), 'attempt:' .. number, attempt)
  redis.call('HDEL', delivery(id), 'attempt:' .. (number - kept))
  redis.call('HDEL', delivery(id), 'claim')
  redis.call('ZREM', inflight(endpoint), id)
  if status == 'pending' then
    redis.call('HSET', delivery(id), 'nextAttemptAt', whole(NOW + wait))
    redis.call('ZADD', due(endpoint), whole(NOW + wait), id)
  else
    finish(endpoint, id, status, reason)
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
    finish(endpoint, id, 'failed', reason)
    redis.call('ZREM', set, id)
  end
  return #ids
end
local ended = end_some(due(endpoint), most)
if record then
  note(endpoint, math.huge)
else
  ended = ended + end_some(inflight(endpoint), most - ended)
  if ended < most then
    redis.call('UNLINK', gaps(endpoint), listed(endpoint), listed(endpoint, 'pending'), listed(endpoint, 'succeeded'),
      listed(endpoint, 'failed'))
    redis.call('ZREM', AGENDA, endpoint)
  end
end
return ended
`);

/**
 * ARGV: base, endpoint, status or '' for all, number before which to begin or '', most.
 * Answers the number before which the next page begins or '', and the ids, the newest first.
 */
export const LIST = script(`
local status, before, limit = ARGV[3], ARGV[4], tonumber(ARGV[5])
local set = listed(ARGV[2], status ~= '' and status or nil)
local entries = redis.call('ZRANGE', set, before == '' and '+inf' or '(' .. before, '-inf', 'BYSCORE', 'REV',
  'LIMIT', 0, limit + 1, 'WITHSCORES')
local reply = {#entries > 2 * limit and entries[2 * limit] or ''}
for i = 1, math.min(#entries, 2 * limit), 2 do reply[#reply + 1] = entries[i] end
return reply
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
  local stored = redis.call('HMGET', delivery(entries[i]), 'endpoint', 'status')
  if stored[1] then
    redis.call('ZREM', listed(stored[1]), entries[i])
    redis.call('ZREM', listed(stored[1], stored[2]), entries[i])
  end
  redis.call('DEL', delivery(entries[i]))
  redis.call('ZREM', FINISHED, entries[i])
  removed = removed + 1
end
return removed
`);
