--- Gives back the turn to probe upstream, because no probe was made.
-- @key upstream  Hash of the outage, if there is one.
-- @arg wait      Time until the next turn, in ms.
-- @reply         Nothing.
--- @include "@platform/redis/lua/includes/now.lua"

if redis.call('HEXISTS', upstream, 'unavailableSince') == 1 then
  redis.call('HSET', upstream, 'probeAt', whole(now_ms() + wait))
end
