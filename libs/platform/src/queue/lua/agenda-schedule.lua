--- Makes tasks due at a time, or earlier if they already are.
-- @key due          Sorted set of tasks by when they are due, or when their lease ends, in ms.
-- @key claimed      Hash from a task that is under way to its claim.
-- @key rescheduled  Hash from a task that is under way to the time at which it is due again, in ms.
-- @args tasks       Pairs of a task and its time.
-- @reply            Nothing.
--- @include "includes/agenda.lua"

schedule(tasks_from)
