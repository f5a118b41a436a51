--- Reads the state of the log, and creates its epoch if it has none.
-- Callers can thus get a cursor before the first event. If the log has an epoch, nothing is written, so that the script
-- works even while Redis is full.
-- @key log           Stream of the account's events.
-- @key log_index     Hash from an event's id to its position in the log.
-- @key log_counters  Hash of the log's counters.
-- @args events       `appendEventsLuaArguments` without events. Contains the epoch for a new log.
-- @reply             An array.
-- @field epoch       Epoch of the log.
-- @field last        Position of the newest event, or nil.
-- @field trimmed     Position of the newest event that retention removed, or nil.
--- @include "includes/append-events.lua"

if redis.call('HEXISTS', log_counters, 'epoch') == 0 then append_events(events_from) end
return redis.call('HMGET', log_counters, 'epoch', 'last', 'trimmed')
