--- Schedules the tasks that are not on the agenda yet.
-- @key due          Sorted set of tasks by the time when they are due or their lease ends, in ms.
-- @key claimed      Hash from a task that is under way to its claim.
-- @key rescheduled  Hash from a task that is under way to the time at which it is due again, in ms.
-- @args tasks       Pairs of a task and its time.
-- @reply            Nothing.
--- @include "includes/agenda.lua"

wake_if_sooner(function()
  for i = tasks_from, #ARGV, 2 do
    redis.call('ZADD', due, 'NX', whole(time_of(ARGV[i + 1])), ARGV[i])
  end
end)
