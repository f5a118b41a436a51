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

local failing, stored = 0, redis.call('HGET', WEBHOOKS, endpoint)
if stored then
  local most, slots = slots_of(endpoint, cjson.decode(stored), default)
  if status == 'succeeded' then
    speed_up(endpoint, most)
  else
    redis.call('HSETNX', pace(endpoint), 'failingSince', whole(NOW))
    failing = NOW - tonumber(redis.call('HGET', pace(endpoint), 'failingSince'))
    if slower then slow_down(endpoint, slots, began) end
    if alone > 0 then hold(endpoint, alone) end
  end
end
note(endpoint, default)
return {1, redis.call('ZCOUNT', due(endpoint), '-inf', whole(NOW)) > 0 and 1 or 0, failing}
