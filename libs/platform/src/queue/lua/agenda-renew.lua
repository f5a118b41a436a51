--- Renews the leases of tasks that are still held under their claims.
-- @key due            Sorted set of tasks by when they are due, or when their lease ends, in ms.
-- @key taken          Hash from a task that is under way to its claim.
-- @key asked          Hash from a task that is under way to when it is due again, in ms.
-- @arg lease          Length of a lease in ms.
-- @args tasks         Pairs of a task and its claim.
-- @reply              Nothing.
--- @include "includes/agenda.lua"

for i = tasks_from, #ARGV, 2 do
  if redis.call('HGET', taken, ARGV[i]) == ARGV[i + 1] then
    redis.call('ZADD', due, 'XX', whole(now + lease), ARGV[i])
  end
end
