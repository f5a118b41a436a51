--- Reads the state of the log, and gives it an epoch if it has none.
-- A cursor can thus be given before the first event. Nothing is written to a log that has an epoch: a Redis that is
-- full can still be read.
-- @key log             Stream of the account's events.
-- @key log_index       Hash from an event's id to its position in the log.
-- @key log_counters    Hash of the log's counters.
-- @args events         `eventArguments` without events: the epoch that a new log gets.
-- @reply               An array.
-- @field epoch         Epoch of the log.
-- @field last          Position of the newest event, or nil.
-- @field trimmed       Position of the newest event that retention removed, or nil.
--- @include "includes/append-events.lua"

if redis.call('HEXISTS', log_counters, 'epoch') == 0 then append_events(events_from) end
return redis.call('HMGET', log_counters, 'epoch', 'last', 'trimmed')
