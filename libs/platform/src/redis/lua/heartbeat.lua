--- Records a heartbeat, and removes processes whose last heartbeat is too old.
-- @key alive         Sorted set of processes by the time of their last heartbeat.
-- @arg member        The process.
-- @arg forget_after  Age at which a heartbeat is removed, in ms.
-- @reply             The time in ms.
--- @include "includes/now.lua"

local now = now_ms()
redis.call('ZADD', alive, whole(now), member)
redis.call('ZREMRANGEBYSCORE', alive, '-inf', whole(now - forget_after))
return now
