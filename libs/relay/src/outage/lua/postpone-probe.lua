--- Schedules the next probe after one that failed.
-- @key upstream             Hash of the outage, if there is one.
-- @arg kind                 Kind of the outage.
-- @arg reason               What failed.
-- @constant FIRST_PROBE_MS  Time until the first probe, in ms.
-- @reply                    1, or 0 without an outage.
--- @include "@platform/redis/lua/includes/now.lua"

-- Maximum wait in ms. Each wait is twice as long as the one before.
local MAX_PROBE_MS = 30000

if redis.call('HEXISTS', upstream, 'unavailableSince') == 0 then return 0 end
local probes = redis.call('HINCRBY', upstream, 'probes', 1)
local wait = math.min(FIRST_PROBE_MS * 2 ^ math.min(probes, 20), MAX_PROBE_MS)
redis.call('HSET', upstream, 'kind', kind, 'reason', reason, 'probeAt', whole(now_ms() + wait))
return 1
