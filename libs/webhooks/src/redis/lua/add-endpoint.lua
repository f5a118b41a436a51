--- Adds an endpoint. The events that were recorded before become the endpoint's first gap.
-- @key webhooks       Hash of the account's endpoints.
-- @key log_counters   Hash of the log's counters.
-- @key gaps           List of the endpoint's gaps.
-- @key filters        Hash from an endpoint's id to the size of its filter in bytes.
-- @key revision       Revision of the account's endpoints.
-- @arg id             The endpoint's id.
-- @arg endpoint       The endpoint as JSON.
-- @arg bytes          Size of the endpoint's filter in bytes.
-- @arg max_endpoints  Maximum number of endpoints.
-- @arg max_bytes      Maximum total size of all filters in bytes.
-- @reply              'added', or the limit that is reached: 'endpoints' or 'filters'.
--- @include "includes/filters.lua"
--- @include "includes/revision.lua"

if redis.call('HLEN', webhooks) >= tonumber(max_endpoints) then return 'endpoints' end
if tonumber(bytes) > 0 and not keep_filters(webhooks, filters, id, tonumber(bytes), max_bytes) then return 'filters' end
redis.call('HSET', filters, id, bytes)
change_revision(revision)
redis.call('HSET', webhooks, id, endpoint)
local last = redis.call('HGET', log_counters, 'last')
if last then redis.call('RPUSH', gaps, '0-0 ' .. last) end
return 'added'
