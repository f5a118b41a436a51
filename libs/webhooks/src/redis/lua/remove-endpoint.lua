--- Removes an endpoint and adds it to the agenda, so that its deliveries end even if this process stops.
-- @key webhooks    Hash of the account's endpoints.
-- @key agenda      Sorted set of endpoints by when they need attention, in ms.
-- @key filters     Hash from an endpoint's id to the size of its filter in bytes.
-- @key revision    Revision of the account's endpoints.
-- @arg id          The endpoint's id.
-- @reply           1, or 0 if the endpoint was not found.
--- @include "includes/revision.lua"

local removed = redis.call('HDEL', webhooks, id)
if removed == 1 then
  redis.call('ZADD', agenda, 0, id)
  redis.call('HDEL', filters, id)
  change_revision(revision)
end
return removed
