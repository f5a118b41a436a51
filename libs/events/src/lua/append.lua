--- Appends events to the log.
-- @key log             Stream of the account's events.
-- @key log_index       Hash from an event's id to its position in the log.
-- @key log_counters    Hash of the log's counters.
-- @args events         Events to append (`appendEventsLuaArguments`).
-- @reply               Nothing.
--- @include "includes/append-events.lua"

append_events(events_from)
