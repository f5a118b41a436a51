--- Removes tasks from the agenda.
-- @key due          Sorted set of tasks by the time when they are due or their lease ends, in ms.
-- @key claimed      Hash from a task that is under way to its claim.
-- @key rescheduled  Hash from a task that is under way to the time at which it is due again, in ms.
-- @args tasks       The tasks.
-- @reply            Nothing.

for i = tasks_from, #ARGV do
  local task = ARGV[i]
  redis.call('ZREM', due, task)
  redis.call('HDEL', claimed, task)
  redis.call('HDEL', rescheduled, task)
end
