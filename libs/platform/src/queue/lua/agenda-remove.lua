--- Removes tasks from the agenda.
-- @key due            Sorted set of tasks by when they are due, or when their lease ends, in ms.
-- @key taken          Hash from a task that is under way to its claim.
-- @key asked          Hash from a task that is under way to when it is due again, in ms.
-- @args tasks         The tasks.
-- @reply              Nothing.

for i = tasks_from, #ARGV do
  local task = ARGV[i]
  redis.call('ZREM', due, task)
  redis.call('HDEL', taken, task)
  redis.call('HDEL', asked, task)
end
