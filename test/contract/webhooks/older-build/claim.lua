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

local endpoint, default, room, lease, claim = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local stored = redis.call('HGET', WEBHOOKS, endpoint)
local record = stored and cjson.decode(stored)
if not record or not record.enabled then return nil end
return_expired(endpoint)
local _, slots = slots_of(endpoint, record, default)
local free = slots - redis.call('ZCARD', inflight(endpoint))
local tokens = tokens_of(endpoint, record)
local most, claimed, reply = math.min(free, room, math.floor(tokens)), 0, {stored, 0, 0}
if most > 0 and open_from(endpoint, record) <= NOW then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', due(endpoint), '-inf', whole(NOW), 'LIMIT', 0, whole(most))) do
    local kept = redis.call('HMGET', delivery(id), 'status', 'event', 'attempts', 'body', 'earlier')
    redis.call('ZREM', due(endpoint), id)
    if kept[1] == 'pending' then
      redis.call('ZADD', inflight(endpoint), whole(NOW + lease), id)
      redis.call('HSET', delivery(id), 'claim', claim)
      redis.call('HDEL', delivery(id), 'nextAttemptAt')
      claimed = claimed + 1
      local attempts = tonumber(kept[3]) - tonumber(kept[5] or 0)
      for _, value in ipairs({id, kept[2], attempts, kept[4]}) do reply[#reply + 1] = value end
    end
  end
  spend(endpoint, tokens, claimed)
end
if claimed < free and redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 then
  local wait = open_from(endpoint, record) - NOW
  if wait > 0 then reply[3] = wait else reply[2] = 1 end
end
note(endpoint, default)
return reply
