--- Schedules the next probe after one that failed.
-- @key upstream             Hash of the outage, if there is one.
-- @arg kind                 Kind of the outage.
-- @arg reason               What failed.
-- @constant FIRST_PROBE_MS  Time until the first probe, in ms.
-- @reply                    1, or 0 without an outage.
--- @include "@platform/redis/lua/includes/now.lua"
--- @include "includes/probe-wait.lua"

if redis.call('HEXISTS', upstream, 'unavailableSince') == 0 then return 0 end
local probes = redis.call('HINCRBY', upstream, 'probes', 1)
redis.call('HSET', upstream, 'kind', kind, 'reason', reason, 'probeAt', whole(now_ms() + wait_before_probe(probes)))
return 1
