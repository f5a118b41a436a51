--- Renews the leases of tasks whose claims are still valid.
-- @key due          Sorted set of tasks by the time when they are due or their lease ends, in ms.
-- @key claimed      Hash from a task that is under way to its claim.
-- @key rescheduled  Hash from a task that is under way to the time at which it is due again, in ms.
-- @arg lease        Duration of a lease in ms.
-- @args tasks       Pairs of a task and its claim.
-- @reply            Nothing.
--- @include "includes/agenda.lua"

for i = tasks_from, #ARGV, 2 do
  if redis.call('HGET', claimed, ARGV[i]) == ARGV[i + 1] then
    redis.call('ZADD', due, 'XX', whole(now + lease), ARGV[i])
  end
end
