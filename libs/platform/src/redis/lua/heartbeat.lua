--- Records that a process is alive, and forgets processes that have been silent for long.
-- @key alive          Sorted set of processes by the time of their last heartbeat.
-- @arg member         The process.
-- @arg forget_after   Silence after which a process is forgotten, in ms.
-- @reply              The time in ms.
--- @include "includes/now.lua"

local now = now_ms()
redis.call('ZADD', alive, whole(now), member)
redis.call('ZREMRANGEBYSCORE', alive, '-inf', whole(now - forget_after))
return now
