--- Ends a task under way, and schedules it again together with other tasks.
-- If another process has claimed the task meanwhile, the lease of that process stays. The process that ends the task
-- learns from the reply when the next task is due. Other processes are woken if the ended task is due again at once,
-- because the process that ends it may be stopping.
-- @key due          Sorted set of tasks by the time when they are due or their lease ends, in ms.
-- @key claimed      Hash from a task that is under way to its claim.
-- @key rescheduled  Hash from a task that is under way to the time at which it is due again, in ms.
-- @arg task         The task.
-- @arg claim        Claim under which the task was worked on.
-- @arg time         When the task is due again, or '' if it is not.
-- @args others      Pairs of a task and its time.
-- @reply            An array.
-- @field next_in_ms Time until the next task is due or the next lease ends, in ms; -1 for an empty agenda.
--- @include "includes/agenda.lua"

local function reply()
  local first = first_time()
  return {first and math.max(first - now, 0) or -1}
end

schedule(others_from)
local at = time ~= '' and time_of(time) or nil
if redis.call('HGET', claimed, task) ~= claim then
  if at and redis.call('HEXISTS', claimed, task) == 0 then redis.call('ZADD', due, 'LT', whole(at), task) end
  return reply()
end
local next_time = redis.call('HGET', rescheduled, task)
redis.call('HDEL', claimed, task)
redis.call('HDEL', rescheduled, task)
if next_time then at = math.min(at or tonumber(next_time), tonumber(next_time)) end
if at then redis.call('ZADD', due, whole(at), task) else redis.call('ZREM', due, task) end
if at and at <= now then wake(at) end
return reply()
