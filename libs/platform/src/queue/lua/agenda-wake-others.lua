--- Wakes the processes that wait for the next task.
-- @key due          Sorted set of tasks by the time when they are due or their lease ends, in ms.
-- @key claimed      Hash from a task that is under way to its claim.
-- @key rescheduled  Hash from a task that is under way to the time at which it is due again, in ms.
-- @reply            Nothing.
--- @include "includes/agenda.lua"

local first = first_time()
if first then wake(first) end
