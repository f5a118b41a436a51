--- Ends an outage together with its event, if it still lasts.
-- @key log             Stream of the account's events.
-- @key log_index       Hash from an event's id to its position in the log.
-- @key log_counters    Hash of the log's counters.
-- @key upstream        Hash of the outage, if there is one.
-- @arg since           When the outage began, in ms: that names it.
-- @args events         Events to append (`eventArguments`).
-- @reply               1, or 0 if that outage is over.
--- @include "@events/lua/includes/append-events.lua"

-- Time after an outage during which processes make sure that nothing waits for its end any more.
local RECOVERING_MS = 2000

if redis.call('HGET', upstream, 'unavailableSince') ~= since then return 0 end
redis.call('DEL', upstream)
redis.call('HSET', upstream, 'recoveredAt', whole(now_ms()))
redis.call('PEXPIRE', upstream, RECOVERING_MS)
append_events(events_from)
return 1
