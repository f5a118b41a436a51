--- Claims due tasks, each with a lease.
-- @key due           Sorted set of tasks by the time when they are due or their lease ends, in ms.
-- @key claimed       Hash from a task that is under way to its claim.
-- @key rescheduled   Hash from a task that is under way to the time at which it is due again, in ms.
-- @key claims        Counter of claims.
-- @key latest_time   Latest known time in ms.
-- @arg max_count     Maximum number of tasks.
-- @arg lease         Duration of a lease in ms.
-- @reply             An array.
-- @field next_in_ms  Time until the next task is due or the next lease ends, in ms; -1 for an empty agenda.
-- @fields tasks      Pairs of a task and its claim.
--- @include "includes/agenda.lua"
--- @include "@platform/redis/lua/includes/clock-steps.lua"

local back = set_back_by(latest_time, now)
if back > 0 then
  bring_forward(due, back, now)
  local later = redis.call('HGETALL', rescheduled)
  for i = 1, #later, 2 do redis.call('HSET', rescheduled, later[i], whole(later[i + 1] - back)) end
end
local reply = {-1}
for _, task in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', whole(now), 'LIMIT', 0, max_count)) do
  local claim = redis.call('INCR', claims)
  redis.call('ZADD', due, whole(now + lease), task)
  redis.call('HSET', claimed, task, claim)
  -- A process that was killed during its claim may have left a time at which the task is due again. This claim covers
  -- that time.
  redis.call('HDEL', rescheduled, task)
  reply[#reply + 1] = task
  reply[#reply + 1] = whole(claim)
end
local first = first_time()
if first then reply[1] = math.max(first - now, 0) end
return reply
