--- Adds sends to lanes and removes them.
-- A lane is the list of a recipient's sends that wait for their POST.
--- @include "@platform/redis/lua/includes/now.lua"

local function join_lane(lane, due, since, depths, id, recipient, now)
  redis.call('RPUSH', lane, id)
  redis.call('ZADD', due, 'NX', whole(now), recipient)
  redis.call('ZADD', since, whole(now), id)
  redis.call('ZINCRBY', depths, 1, recipient)
end
local function leave_lane(lane, due, since, depths, id, recipient, now)
  redis.call('ZREM', since, id)
  if redis.call('LREM', lane, 1, id) == 0 then return end
  if redis.call('EXISTS', lane) == 1 then
    redis.call('ZADD', due, whole(now), recipient)
    redis.call('ZINCRBY', depths, -1, recipient)
  else
    redis.call('ZREM', due, recipient)
    redis.call('ZREM', depths, recipient)
  end
end

-- Returns the member of a send in the set of scheduled sends. Sends with the same time are sorted by their
-- acceptance.
local function scheduled_as(send, id) return string.format('%016d ', redis.call('HGET', send, 'place')) .. id end
