--- Reads the state of the log, and creates its epoch if it has none.
-- So a cursor exists before the first event. Nothing is written to a log that has an epoch, so that a full Redis can
-- still be read.
-- @key log           Stream of the account's events.
-- @key log_index     Hash from an event's id to its position in the log.
-- @key log_counters  Hash of the log's counters.
-- @args events       `appendEventsLuaArguments` without events: the epoch that a new log gets.
-- @reply             An array.
-- @field epoch       Epoch of the log.
-- @field last        Position of the newest event, or nil.
-- @field trimmed     Position of the newest event that retention removed, or nil.
--- @include "includes/append-events.lua"

if redis.call('HEXISTS', log_counters, 'epoch') == 0 then append_events(events_from) end
return redis.call('HMGET', log_counters, 'epoch', 'last', 'trimmed')
