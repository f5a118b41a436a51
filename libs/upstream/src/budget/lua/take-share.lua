--- Permits one request of a kind that may use only a share of the budget, if the share allows a request now.
-- @key share       Time at which the full share will be available again, in ms, as text with a fraction.
-- @arg interval    Time in which one request becomes available, in ms.
-- @arg burst       Number of requests that may be sent at once.
-- @reply           0 if the request is permitted, else the time until the next attempt in ms.
--- @include "@platform/redis/lua/includes/now.lua"

local now = now_ms()
local step, room = tonumber(interval), tonumber(interval) * tonumber(burst)
local full = math.max(tonumber(redis.call('GET', share) or now), now)
-- If the clock was set back, the share must not stay used up.
full = math.min(full, now + room)
local wait = full + step - room - now
if wait > 0 then return math.ceil(wait) end
redis.call('SET', share, string.format('%.3f', full + step), 'PX', math.ceil(full + step - now))
return 0
