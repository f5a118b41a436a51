-- Of what is neither due nor under way any more. What fails while its endpoint is disabled counts as missed.
local function finish(endpoint, id, status, reason)
  redis.call('HSET', delivery(id), 'status', status, 'reason', reason, 'finishedAt', whole(NOW))
  redis.call('HDEL', delivery(id), 'body', 'claim', 'nextAttemptAt')
  redis.call('ZADD', FINISHED, whole(NOW), id)
  list_as(endpoint, id, 'pending', status)
  leave_lane(endpoint, id)
  local stored = status == 'failed' and redis.call('HGET', WEBHOOKS, endpoint)
  if stored and not cjson.decode(stored).enabled then redis.call('HSET', delivery(id), 'missed', 1) end
end

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
  note(endpoint, math.huge)
else
  -- What is under way first: it keeps its lane from going on.
  end_all(inflight(endpoint))
  end_all(due(endpoint))
  if ended < most then
    redis.call('UNLINK', gaps(endpoint), pace(endpoint), lanes(endpoint), turns(endpoint), listed(endpoint),
      listed(endpoint, 'pending'), listed(endpoint, 'succeeded'), listed(endpoint, 'failed'))
    redis.call('ZREM', AGENDA, endpoint)
  end
end
return ended
