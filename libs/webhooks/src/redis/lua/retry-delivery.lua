--- Retries a delivery.
-- @key webhooks    Hash of the account's endpoints.
-- @arg base        Prefix of the account's keys.
-- @arg id          The delivery's id.
-- @reply           'retried', or why not: 'unknown' (delivery), 'disabled' or 'removed' (endpoint), 'lost' (event),
--                 'full' (backlog).
--- @include "includes/creation.lua"
--- @include "@events/lua/includes/logged-event.lua"

local status, endpoint, position, event =
  unpack(redis.call('HMGET', delivery(id), 'status', 'endpoint', 'position', 'event'))
if not status then return 'unknown' end
if endpoint_of(endpoint).state ~= 'enabled' then return endpoint_of(endpoint).state end
if status == 'pending' then
  if expedite(endpoint, id) then redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint) end
  return 'retried'
end
if not logged_event(base .. 'events', position, event) then return 'lost' end
if pending_of(endpoint) >= MAX_PENDING then return 'full' end
restart(endpoint, id, status)
write_pending()
return 'retried'
