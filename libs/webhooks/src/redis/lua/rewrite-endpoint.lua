--- Replaces an endpoint that nobody changed since it was read, without an event or a new revision.
-- @key webhooks        Hash of the account's endpoints.
-- @arg id              The endpoint's id.
-- @arg expected        The endpoint as it was read.
-- @arg replacement     The endpoint as JSON.
-- @reply               1, or 0 if the endpoint was changed.

if redis.call('HGET', webhooks, id) ~= expected then return 0 end
redis.call('HSET', webhooks, id, replacement)
return 1
