--- Makes tasks due at a time, or earlier if they already are.
-- @key due            Sorted set of tasks by when they are due, or when their lease ends, in ms.
-- @key taken          Hash from a task that is under way to its claim.
-- @key asked          Hash from a task that is under way to when it is due again, in ms.
-- @args tasks         Pairs of a task and its time.
-- @reply              Nothing.
--- @include "includes/agenda.lua"

ask(tasks_from)
