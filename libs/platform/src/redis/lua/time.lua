--- Returns the time in milliseconds since 1970.
-- @key slot   Any key; on a Redis Cluster it names the master whose clock is read.
-- @reply      The time in ms.
--- @include "includes/now.lua"

return now_ms()
