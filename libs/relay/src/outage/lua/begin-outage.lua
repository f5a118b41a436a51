--- Records the start of an outage with its event, or updates the reason of the current outage.
-- @key log                  Stream of the account's events.
-- @key log_index            Hash from an event's id to its position in the log.
-- @key log_counters         Hash of the log's counters.
-- @key upstream             Hash of the outage, if there is one.
-- @arg since                Start of the outage in ms.
-- @arg kind                 Kind of the outage.
-- @arg reason               What failed.
-- @args events              Events to append (`appendEventsLuaArguments`).
-- @constant FIRST_PROBE_MS  Time until the first probe, in ms.
-- @reply                    1, or 0 if an outage is already recorded.
--- @include "@events/lua/includes/append-events.lua"

redis.call('HSET', upstream, 'reason', reason)
if redis.call('HSETNX', upstream, 'unavailableSince', since) == 0 then
  if kind ~= 'away' then redis.call('HSET', upstream, 'kind', kind) end
  return 0
end
redis.call('HSET', upstream, 'kind', kind, 'probes', 0, 'probeAt', whole(now_ms() + FIRST_PROBE_MS))
redis.call('HDEL', upstream, 'recoveredAt')
redis.call('PERSIST', upstream)
append_events(events_from)
return 1
