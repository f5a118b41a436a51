--- Keeps the floor of revisions.
-- A new Redis run may lack the last events, and the revisions that they had. New revisions start above the floor.
--- @include "@platform/redis/lua/includes/redis-run.lua"

local function revision_floor(list)
  local current, former = redis_run(), redis.call('HGET', list, 'life')
  if former ~= current then
    if former then redis.call('HSET', list, 'revisionFloor', redis.call('TIME')[1]) end
    redis.call('HSET', list, 'life', current)
  end
  return redis.call('HGET', list, 'revisionFloor') or '0'
end
