--- Makes each task due at the given time at the latest.
-- @key due          Sorted set of tasks by the time when they are due or their lease ends, in ms.
-- @key claimed      Hash from a task that is under way to its claim.
-- @key rescheduled  Hash from a task that is under way to the time at which it is due again, in ms.
-- @args tasks       Pairs of a task and its time.
-- @reply            Nothing.
--- @include "includes/agenda.lua"

schedule(tasks_from)
