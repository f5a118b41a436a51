import { LOGGED_EVENT } from '#events';
import { deliveryScript as script } from './redis-delivery-common.js';

/**
 * ARGV: base, endpoint, default slots, most to claim, lease in ms, claim.
 * Answers nil for an endpoint that is removed or disabled, else the endpoint; whether more could be claimed; after how
 * many ms its pace allows what is due and was left, or 0; whether more can be made pending; how many were missed, since the
 * log has lost their events; and five values per delivery: id, event, attempts since it last became pending, the body that an
 * older build stored or '', and the log's entry of the event or ''.
 */
export const CLAIM = script(`${LOGGED_EVENT}
local endpoint, default, room, lease, claim = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local stored, record = endpoint_record(endpoint)
if not record or not record.enabled then return nil end
keep_older_builds_off(endpoint)
return_expired(endpoint)
local _, slots = slots_of(endpoint, record, default)
local free = slots - redis.call('ZCARD', inflight(endpoint))
local tokens = tokens_of(endpoint, record)
local most, claimed, reply = math.min(free, room, math.floor(tokens)), 0, {stored, 0, 0, 0, 0}
if most > 0 and open_from(endpoint, record) <= NOW then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', due(endpoint), '-inf', whole(NOW), 'LIMIT', 0, whole(most))) do
    local kept = redis.call('HMGET', delivery(id), 'status', 'event', 'attempts', 'body', 'earlier', 'position')
    redis.call('ZREM', due(endpoint), id)
    local entry = kept[1] == 'pending' and not kept[4] and logged_event(BASE .. 'events', kept[6], kept[2])
    if kept[1] == 'pending' and not kept[4] and not entry then
      miss(endpoint, id)
      reply[5] = reply[5] + 1
    elseif kept[1] == 'pending' then
      redis.call('ZADD', inflight(endpoint), whole(NOW + lease), id)
      redis.call('HSET', delivery(id), 'claim', claim)
      redis.call('HDEL', delivery(id), 'nextAttemptAt')
      claimed = claimed + 1
      local attempts = tonumber(kept[3]) - tonumber(kept[5] or 0)
      for _, value in ipairs({id, kept[2], attempts, kept[4] or '', entry or ''}) do reply[#reply + 1] = value end
    end
  end
  spend(endpoint, tokens, claimed)
end
if claimed < free and redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 then
  local wait = open_from(endpoint, record) - NOW
  if wait > 0 then reply[3] = wait else reply[2] = 1 end
end
note(endpoint, default)
if can_refill(endpoint) then reply[4] = 1 end
return reply
`);

/**
 * ARGV: base, endpoint, default slots, delivery, claim, attempt as JSON, its length in ms, status, wait in ms, reason,
 * whether the endpoint must slow down, for how long it must be left alone in ms, most attempts to keep.
 * Answers whether it was recorded, whether more is due at the endpoint, and for how many ms it has only failed.
 */
export const SETTLE = script(`
local endpoint, default, id, claim, attempt = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local began, status, wait, reason = NOW - tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9]), ARGV[10]
local slower, alone, kept = ARGV[11] == '1', tonumber(ARGV[12]), tonumber(ARGV[13])
if redis.call('HGET', delivery(id), 'claim') ~= claim then return {0, 0, 0} end

local number = redis.call('HINCRBY', delivery(id), 'attempts', 1)
redis.call('HSET', delivery(id), 'attempt:' .. number, attempt)
redis.call('HDEL', delivery(id), 'attempt:' .. (number - kept))
if status == 'pending' then
  take_back(endpoint, id, NOW + wait)
else
  redis.call('ZREM', inflight(endpoint), id)
  finish(endpoint, id, status, reason)
end

local failing, _, record = 0, endpoint_record(endpoint)
if record then
  local most, slots = slots_of(endpoint, record, default)
  if status == 'succeeded' then
    local recovers = is_recovering(endpoint)
    speed_up(endpoint, most)
    redis.call('HSETNX', backlog(endpoint), 'works', 1)
    if recovers then bring_forward(endpoint) end
  else
    redis.call('HSETNX', pace(endpoint), 'failingSince', whole(NOW))
    failing = NOW - tonumber(redis.call('HGET', pace(endpoint), 'failingSince'))
    if slower then slow_down(endpoint, slots, began) end
    if alone > 0 then hold(endpoint, alone) end
  end
end
note(endpoint, default)
local more = redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 or can_refill(endpoint)
return {1, more and 1 or 0, failing}
`);

/** ARGV: base, endpoint, default slots, delivery, claim. */
export const RELEASE = script(`
local endpoint, default, id, claim = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
if redis.call('HGET', delivery(id), 'claim') == claim then
  take_back(endpoint, id, NOW)
  note(endpoint, default)
end
`);

/**
 * Ends what is pending at an endpoint that was removed, or what waits at one that is disabled: its attempts under way
 * come to their own end. ARGV: base, endpoint, most to end. Answers how many were ended.
 */
export const END_PENDING = script(`
local endpoint, most = ARGV[2], tonumber(ARGV[3])
local _, record = endpoint_record(endpoint)
local reason = 'The endpoint was removed.'
if record then
  if record.enabled then return 0 end
  reason = 'The endpoint is disabled.'
  if type(record.disabledReason) == 'string' then reason = reason .. ' ' .. record.disabledReason end
  return_expired(endpoint)
end
local ended = 0
local function end_all(set)
  while ended < most do
    local ids = redis.call('ZRANGE', set, 0, most - ended - 1)
    if #ids == 0 then return end
    for _, id in ipairs(ids) do
      redis.call('ZREM', set, id)
      finish(endpoint, id, 'failed', reason)
    end
    ended = ended + #ids
  end
end
if record then
  end_all(due(endpoint))
  give_up_behind(endpoint)
  note(endpoint, math.huge)
else
  -- What is under way first: it keeps its lane from going on.
  end_all(inflight(endpoint))
  end_all(due(endpoint))
  if ended < most then
    redis.call('UNLINK', gaps(endpoint), pace(endpoint), older_pace(endpoint), backlog(endpoint), lanes(endpoint), turns(endpoint), listed(endpoint),
      listed(endpoint, 'pending'), listed(endpoint, 'succeeded'), listed(endpoint, 'failed'))
    redis.call('ZREM', AGENDA, endpoint)
    leave_older_agenda(endpoint)
  end
end
return ended
`);

/**
 * ARGV: base, endpoint, stored status or '' for all, whether missed deliveries are wanted ('yes', 'no', '' for both), number
 * before which to begin or '', maximum number of ids, maximum number of deliveries to look at.
 * Replies with the number before which the next page begins or '', and the ids, the newest first.
 */
export const LIST = script(`
local status, missed, before, limit = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local set = listed(ARGV[2], status ~= '' and status or nil)
local most = missed == '' and limit or tonumber(ARGV[7])
local entries = redis.call('ZRANGE', set, before == '' and '+inf' or '(' .. before, '-inf', 'BYSCORE', 'REV',
  'LIMIT', 0, most + 1, 'WITHSCORES')
local reply, last = {''}, math.min(#entries, 2 * most)
for i = 1, last, 2 do
  if missed == '' or (redis.call('HGET', delivery(entries[i]), 'missed') == '1') == (missed == 'yes') then
    reply[#reply + 1] = entries[i]
  end
  if #reply > limit or i + 1 == last then
    if i + 2 <= #entries then reply[1] = entries[i + 1] end
    break
  end
end
return reply
`);

/** ARGV: base, how many to pass over, most. Answers endpoints that must be looked at, the longest overdue first. */
export const OVERDUE = script(`
local first, count = ARGV[2], ARGV[3]
adopt_older_agenda()
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
