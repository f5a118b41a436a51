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
local WEBHOOKS, AGENDA, FINISHED = BASE .. 'webhooks', BASE .. 'webhooks:due', BASE .. 'deliveries:finished'

-- 'enabled', 'disabled', or nil for an endpoint that was removed.
local function state_of(endpoint)
  local record = redis.call('HGET', WEBHOOKS, endpoint)
  if not record then return nil end
  return cjson.decode(record).enabled and 'enabled' or 'disabled'
end

-- Writes down when somebody must look at the endpoint again, whatever happens to the processes at work on it: when
-- the first lease ends, or, with a slot free, when the first delivery is due.
-- A removed endpoint stays on the agenda until the last of it is cleared up.
local function note(endpoint, slots)
  if redis.call('HEXISTS', WEBHOOKS, endpoint) == 0 then return end
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

local function list_as(endpoint, id, from, to)
  local number = redis.call('ZSCORE', listed(endpoint), id)
  if not number then return end
  redis.call('ZREM', listed(endpoint, from), id)
  redis.call('ZADD', listed(endpoint, to), number, id)
end

-- What fails while its endpoint is disabled counts as missed.
local function finish(endpoint, id, status, reason)
  redis.call('HSET', delivery(id), 'status', status, 'reason', reason, 'finishedAt', whole(NOW))
  redis.call('HDEL', delivery(id), 'body', 'claim', 'nextAttemptAt')
  redis.call('ZADD', FINISHED, whole(NOW), id)
  list_as(endpoint, id, 'pending', status)
  if status == 'failed' and state_of(endpoint) == 'disabled' then redis.call('HSET', delivery(id), 'missed', 1) end
end

-- Makes a delivery pending, due now.
local function put(endpoint, id, body)
  redis.call('HSET', delivery(id), 'status', 'pending', 'body', body, 'nextAttemptAt', whole(NOW))
  redis.call('ZADD', due(endpoint), whole(NOW), id)
  redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint)
end
`;
