--- Records the end of an outage with its event, if the outage is still recorded.
-- @key log           Stream of the account's events.
-- @key log_index     Hash from an event's id to its position in the log.
-- @key log_counters  Hash of the log's counters.
-- @key upstream      Hash of the outage, if there is one.
-- @key relapses      Number of consecutive outages, if the next outage will be a relapse.
-- @key forbidden     Number of consecutive 403 answers to POSTs.
-- @arg since         Start of the outage in ms, which identifies the outage.
-- @args events       Events to append (`appendEventsLuaArguments`).
-- @reply             1, or 0 if that outage has already ended.
--- @include "@events/lua/includes/append-events.lua"

-- Time after an outage during which every process wakes the work that waited for the end of the outage, in ms.
local RECOVERING_MS = 2000
-- Time after an outage in which the next outage counts as a relapse, unless a request has succeeded meanwhile, in ms.
local RELAPSE_MS = 60000

if redis.call('HGET', upstream, 'unavailableSince') ~= since then return 0 end
-- An earlier build stored no `request` and no `relapses`.
local kind, request, count = unpack(redis.call('HMGET', upstream, 'kind', 'request', 'relapses'))
-- A probe only reads the contact list. If the outage began with another request, only the success of such a request
-- shows that the outage is really over.
if kind == 'refused' or (request or '') ~= '' then
  redis.call('SET', relapses, (tonumber(count) or 0) + 1, 'PX', RELAPSE_MS)
end
redis.call('DEL', upstream, forbidden)
redis.call('HSET', upstream, 'recoveredAt', whole(now_ms()))
redis.call('PEXPIRE', upstream, RECOVERING_MS)
append_events(events_from)
return 1
