--- Replaces an endpoint without an event or a new revision, unless it changed since it was read.
-- @key webhooks     Hash of the account's endpoints.
-- @arg id           The endpoint's id.
-- @arg expected     The endpoint as it was read.
-- @arg replacement  The endpoint as JSON.
-- @reply            1, or 0 if the endpoint changed.

if redis.call('HGET', webhooks, id) ~= expected then return 0 end
redis.call('HSET', webhooks, id, replacement)
return 1
