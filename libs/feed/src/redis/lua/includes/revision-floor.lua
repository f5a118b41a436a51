--- Maintains the lower bound of new event revisions.
-- After a restart or failover, Redis may lack its last events and their revisions. New revisions start above the
-- bound.
--- @include "@platform/redis/lua/includes/redis-run.lua"

local function revision_floor(list)
  local current, former = redis_run(), redis.call('HGET', list, 'life')
  if former ~= current then
    if former then redis.call('HSET', list, 'revisionFloor', redis.call('TIME')[1]) end
    redis.call('HSET', list, 'life', current)
  end
  return redis.call('HGET', list, 'revisionFloor') or '0'
end
