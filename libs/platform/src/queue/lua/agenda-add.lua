--- Schedules tasks that are not scheduled yet.
-- @key due          Sorted set of tasks by when they are due, or when their lease ends, in ms.
-- @key claimed      Hash from a task that is under way to its claim.
-- @key rescheduled  Hash from a task that is under way to the time at which it is due again, in ms.
-- @args tasks       Pairs of a task and its time.
-- @reply            Nothing.
--- @include "includes/agenda.lua"

for i = tasks_from, #ARGV, 2 do
  redis.call('ZADD', due, 'NX', whole(time_of(ARGV[i + 1])), ARGV[i])
end
