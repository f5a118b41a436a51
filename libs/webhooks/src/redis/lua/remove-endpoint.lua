--- Removes an endpoint and schedules it on the agenda, so that its deliveries end even if this process does.
-- @key webhooks        Hash of the account's endpoints.
-- @key agenda          Sorted set of endpoints by when they need attention, in ms.
-- @key filters         Hash from an endpoint to the bytes of its filter.
-- @key revision        Number of changes of endpoints.
-- @arg id              The endpoint's id.
-- @reply               1, or 0 if there is no such endpoint.

local removed = redis.call('HDEL', webhooks, id)
if removed == 1 then
  redis.call('ZADD', agenda, 0, id)
  redis.call('HDEL', filters, id)
  redis.call('INCR', revision)
end
return removed
