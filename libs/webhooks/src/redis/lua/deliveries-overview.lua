--- Counts deliveries and endpoints.
-- @key webhooks         Hash of the account's endpoints.
-- @arg base             Prefix of the account's keys.
-- @reply                An array.
-- @field pending        Number of pending deliveries.
-- @field succeeded      Number of succeeded deliveries.
-- @field failed         Number of failed deliveries.
-- @field count          Number of endpoints.
-- @field disabled       Number of disabled endpoints.
-- @field due            Number of endpoints with due deliveries.
-- @field oldest_due_ms  Time for which the longest-waiting of these deliveries has been due, in ms.
--- @include "includes/deliveries.lua"

local pending, succeeded, failed, count, disabled, waiting, oldest = 0, 0, 0, 0, 0, 0, NOW
for _, endpoint in ipairs(redis.call('HKEYS', webhooks)) do
  pending = pending + redis.call('ZCARD', listed(endpoint, 'pending'))
  succeeded = succeeded + redis.call('ZCARD', listed(endpoint, 'succeeded'))
  failed = failed + redis.call('ZCARD', listed(endpoint, 'failed'))
  count = count + 1
  local _, record = endpoint_record(endpoint)
  if not record.enabled then disabled = disabled + 1 end
  local first = tonumber(redis.call('ZRANGE', due(endpoint), 0, 0, 'WITHSCORES')[2])
  if first and first <= NOW then
    waiting = waiting + 1
    oldest = math.min(oldest, first)
  end
end
return {pending, succeeded, failed, count, disabled, waiting, NOW - oldest}
