--- Records the start of an outage with its event, or updates the reason of the current outage.
-- @key log                  Stream of the account's events.
-- @key log_index            Hash from an event's id to its position in the log.
-- @key log_counters         Hash of the log's counters.
-- @key upstream             Hash of the outage, if there is one.
-- @key relapses             Number of consecutive earlier outages, if this one is a relapse (see `end-outage.lua`).
-- @arg since                Start of the outage in ms.
-- @arg kind                 Kind of the outage.
-- @arg reason               What failed.
-- @arg request              'post' or 'messages', if the last of the failed requests was one of these, or ''.
-- @args events              Events to append (`appendEventsLuaArguments`).
-- @constant FIRST_PROBE_MS  Time until the first probe, in ms.
-- @reply                    1, or 0 if an outage is already recorded.
--- @include "@events/lua/includes/append-events.lua"
--- @include "includes/probe-wait.lua"

-- Maximum number of relapses that count if the outage began with failed POSTs. Such an outage must stay short, because
-- it also stops polls, although messages may be readable. The first probe therefore comes after at most 4 s.
local MAX_POST_RELAPSES = 3

redis.call('HSET', upstream, 'reason', reason)
if redis.call('HSETNX', upstream, 'unavailableSince', since) == 0 then
  if kind ~= 'away' then redis.call('HSET', upstream, 'kind', kind) end
  return 0
end
-- If upstream answers the probes but not the requests that come after them, the waits grow over all these outages.
local count = tonumber(redis.call('GET', relapses) or 0)
if kind == 'away' and request == 'post' then count = math.min(count, MAX_POST_RELAPSES) end
redis.call('HSET', upstream, 'kind', kind, 'request', request, 'relapses', count, 'probes', count,
  'probeAt', whole(now_ms() + wait_before_probe(count)))
redis.call('HDEL', upstream, 'recoveredAt')
redis.call('PERSIST', upstream)
append_events(events_from)
return 1
