import { RedisScript } from '#platform';
import { BACKLOG } from './redis-backlog.js';
import { HURRY } from './redis-hurry.js';
import { LANES } from './redis-lanes.js';
import { OLDER_BUILDS } from './redis-older-builds.js';
import { PACE } from './redis-pace.js';

/**
 * Every script gets the account's key prefix (`…:{account}:`) as its first argument: which deliveries it touches is
 * known only while it runs, and all of them share the account's slot.
 */
export const DELIVERY_COMMON = `
local BASE = ARGV[1]
local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

local function whole(number) return string.format('%d', number) end
local function delivery(id) return BASE .. 'delivery:' .. id end
local function due(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':due' end
local function inflight(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':inflight' end
local function gaps(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':gaps' end
-- The endpoint's deliveries, or those of one status, scored by a number that counts up with their creation.
local function listed(endpoint, status)
  return BASE .. 'endpoint:' .. endpoint .. ':deliveries' .. (status and ':' .. status or '')
end
local WEBHOOKS, AGENDA, FINISHED = BASE .. 'webhooks', BASE .. 'webhooks:agenda', BASE .. 'deliveries:finished'

-- An endpoint as it is stored, as text and decoded, or nil. The ids of contacts that it asks for are left out: they may be
-- many, and are no matter of its deliveries. No other text can look like what they stand between.
local function endpoint_record(endpoint)
  local stored = redis.call('HGET', WEBHOOKS, endpoint)
  if not stored then return nil end
  local from = string.find(stored, ',"contactIds":[', 1, true)
  local to = from and string.find(stored, '],"description":', from, true)
  if to then stored = string.sub(stored, 1, from) .. string.sub(stored, to + 2) end
  return stored, cjson.decode(stored)
end

${LANES}${PACE}${OLDER_BUILDS}${BACKLOG}${HURRY}
-- Writes down when somebody must look at the endpoint again, whatever happens to the processes at work on it: when
-- the first lease ends, or, with a slot free, when the first delivery is due and the endpoint's pace allows it; or when
-- more can be made pending.
-- A removed endpoint stays on the agenda until the last of it is cleared up.
local function note(endpoint, default)
  local _, record = endpoint_record(endpoint)
  if not record then return end
  local first = tonumber(redis.call('ZRANGE', due(endpoint), 0, 0, 'WITHSCORES')[2])
  local at = tonumber(redis.call('ZRANGE', inflight(endpoint), 0, 0, 'WITHSCORES')[2])
  local _, slots = slots_of(endpoint, record, default)
  if first and redis.call('ZCARD', inflight(endpoint)) < slots then
    first = math.max(first, open_from(endpoint, record))
    at = math.min(at or first, first)
  end
  local refill = refill_from(endpoint)
  if refill then at = math.min(at or refill, refill) end
  leave_older_agenda(endpoint)
  if at then redis.call('ZADD', AGENDA, whole(at), endpoint) else redis.call('ZREM', AGENDA, endpoint) end
end

-- Takes back a delivery that was under way, to be attempted at a time.
local function take_back(endpoint, id, at)
  redis.call('ZREM', inflight(endpoint), id)
  redis.call('HDEL', delivery(id), 'claim')
  queue(endpoint, id, at)
end

local function return_expired(endpoint)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', inflight(endpoint), '-inf', whole(NOW), 'LIMIT', 0, 1000)) do
    take_back(endpoint, id, NOW)
  end
end

local function list_as(endpoint, id, from, to)
  local number = redis.call('ZSCORE', listed(endpoint), id)
  if not number then return end
  redis.call('ZREM', listed(endpoint, from), id)
  redis.call('ZADD', listed(endpoint, to), number, id)
end

-- Of what is neither due nor under way any more. What fails while its endpoint is disabled counts as missed.
local function finish(endpoint, id, status, reason)
  redis.call('HSET', delivery(id), 'status', status, 'reason', reason, 'finishedAt', whole(NOW))
  redis.call('HDEL', delivery(id), 'body', 'claim', 'nextAttemptAt')
  redis.call('ZADD', FINISHED, whole(NOW), id)
  list_as(endpoint, id, 'pending', status)
  leave_lane(endpoint, id)
  if status ~= 'failed' then return end
  local _, record = endpoint_record(endpoint)
  if record and not record.enabled then redis.call('HSET', delivery(id), 'missed', 1) end
end

-- Ends a delivery whose event the log does not have any more.
local function miss(endpoint, id)
  finish(endpoint, id, 'failed', 'The event was no longer kept when its turn came.')
  redis.call('HSET', delivery(id), 'missed', 1)
end
`;

/** A script of deliveries. */
export const deliveryScript = (source: string): RedisScript => new RedisScript(DELIVERY_COMMON + source);
