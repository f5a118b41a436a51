--- Ends a task that is under way, and schedules it again, with others.
-- Another process that took the task meanwhile began later and knows more: its lease stays.
-- @key due            Sorted set of tasks by when they are due, or when their lease ends, in ms.
-- @key taken          Hash from a task that is under way to its claim.
-- @key asked          Hash from a task that is under way to when it is due again, in ms.
-- @arg task           The task.
-- @arg claim          Its claim.
-- @arg time           When it is due again, or ''.
-- @args others        Pairs of a task and its time.
-- @reply              1, or 0 if another process holds the task.
--- @include "includes/agenda.lua"

ask(others_from)
local at = time ~= '' and time_of(time) or nil
if redis.call('HGET', taken, task) ~= claim then
  if at and redis.call('HEXISTS', taken, task) == 0 then redis.call('ZADD', due, 'LT', whole(at), task) end
  return 0
end
local asked_for = redis.call('HGET', asked, task)
redis.call('HDEL', taken, task)
redis.call('HDEL', asked, task)
if asked_for then at = math.min(at or tonumber(asked_for), tonumber(asked_for)) end
if at then redis.call('ZADD', due, whole(at), task) else redis.call('ZREM', due, task) end
return 1
