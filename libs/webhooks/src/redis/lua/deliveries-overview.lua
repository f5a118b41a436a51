--- Counts deliveries and endpoints.
-- @key webhooks         Hash of the account's endpoints.
-- @arg base             Prefix of the account's keys.
-- @constant MAX_FAILING  Maximum number of failing endpoints in the reply.
-- @reply                An array.
-- @field pending        Number of pending deliveries.
-- @field succeeded      Number of succeeded deliveries.
-- @field failed         Number of failed deliveries.
-- @field count          Number of endpoints.
-- @field disabled       Number of disabled endpoints.
-- @field due            Number of endpoints with due deliveries.
-- @field oldest_due_ms  Longest time, over all endpoints, since a delivery could be attempted, in ms: since it became
--                       due, or since the rate limit or pause of its endpoint allows a request, whichever is later.
-- @field oldest_waiting_ms  Age of the oldest event that waits for room in the backlog of an enabled endpoint, in ms.
-- @field disabled_by_failure  Number of endpoints that Tidings disabled.
-- @fields failing       For each endpoint whose last attempt failed, longest failing first: id, and time of the first
--                       failure since the last success in ms.
--- @include "includes/deliveries.lua"

local failing = {}
local pending, succeeded, failed, count, disabled, waiting, oldest, behind_from = 0, 0, 0, 0, 0, 0, NOW, NOW
local disabled_by_failure = 0
for _, endpoint in ipairs(redis.call('HKEYS', webhooks)) do
  pending = pending + redis.call('ZCARD', listed(endpoint, 'pending'))
  succeeded = succeeded + redis.call('ZCARD', listed(endpoint, 'succeeded'))
  failed = failed + redis.call('ZCARD', listed(endpoint, 'failed'))
  count = count + 1
  local _, record = endpoint_record(endpoint)
  if not record.enabled then
    disabled = disabled + 1
    if type(record.disabledReason) == 'string' then disabled_by_failure = disabled_by_failure + 1 end
  end
  local since = record.enabled and redis.call('HGET', pace(endpoint), 'failingSince')
  if since then failing[#failing + 1] = {endpoint, since} end
  if record.enabled then behind_from = math.min(behind_from, behind_since(endpoint) or NOW) end
  local first = tonumber(redis.call('ZRANGE', due(endpoint), 0, 0, 'WITHSCORES')[2])
  if first and first <= NOW then
    waiting = waiting + 1
    oldest = math.min(oldest, math.max(first, open_from(endpoint, record)))
  end
end
table.sort(failing, function(a, b) return tonumber(a[2]) < tonumber(b[2]) end)
local reply = {pending, succeeded, failed, count, disabled, waiting, NOW - oldest, NOW - behind_from,
  disabled_by_failure}
for i = 1, math.min(#failing, MAX_FAILING) do
  reply[#reply + 1] = failing[i][1]
  reply[#reply + 1] = failing[i][2]
end
return reply
