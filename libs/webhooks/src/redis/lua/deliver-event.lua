--- Delivers an event to an endpoint now: for the first time, or again. The endpoint's filter does not matter.
-- @key webhooks   Hash of the account's endpoints.
-- @arg base       Prefix of the account's keys.
-- @arg endpoint   The endpoint's id.
-- @arg id         The delivery's id.
-- @args entries   The event: id, type, contact, position.
-- @reply          'due', or why not: 'disabled' or 'removed' (endpoint), 'lost' (event), 'full' (backlog), 'waiting'
--                 (earlier events of an ordered endpoint).
--- @include "includes/creation.lua"
--- @include "@events/lua/includes/logged-event.lua"

local state = endpoint_of(endpoint).state
if state ~= 'enabled' then return state end
local event, position = ARGV[entries_from], ARGV[entries_from + 3]
local status = redis.call('HGET', delivery(id), 'status')
if status == 'pending' then
  if expedite(endpoint, id) then redis.call('ZADD', AGENDA, 'LT', whole(NOW), endpoint) end
  return 'due'
end
if not logged_event(base .. 'events', position, event) then return 'lost' end
if not status and waits_in_order(endpoint, position) then return 'waiting' end
if pending_of(endpoint) >= MAX_PENDING then return 'full' end
if status then restart(endpoint, id, status) else create(endpoint, id, entries_from) end
write_pending()
return 'due'
