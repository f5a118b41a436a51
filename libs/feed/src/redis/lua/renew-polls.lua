--- Renews leases of polls.
-- @key due         Sorted set of contacts by when they are polled next, in ms.
-- @key deep        Sorted set of contacts by when their read of older messages is due, in ms.
-- @key leases      Hash from `head:<id>` or `deep:<id>` to its lease.
-- @key leased      Sorted set of the same members by the ends of their leases, in ms.
-- @arg lease_ms    Duration of a lease in ms.
-- @args claims     Kind, contact id and lease of each poll.
-- @reply           Indexes of the polls that another worker has claimed, from 0.
--- @include "includes/poll-leases.lua"

local SETS = {head = due, deep = deep}
local lost, ends = {}, now + tonumber(lease_ms)

local function move_due(set, id, at)
  if at and tonumber(redis.call('ZSCORE', set, id)) == at then
    redis.call('ZADD', set, 'XX', string.format('%d', ends), id)
  end
end

for i = claims_from, #ARGV, 3 do
  local set, id, member = SETS[ARGV[i]], ARGV[i + 1], ARGV[i] .. ':' .. ARGV[i + 1]
  local holder, old, was_due = lease_of(leases, member)
  if not holder then
    -- Redis lost the lease in a failover, or the claim ended before this renewal arrived. If Redis lost the lease,
    -- the contact is still due, and gets a lease again. If the claim ended, the next poll is scheduled for later,
    -- and must not wait for the end of a lease.
    was_due = tonumber(redis.call('ZSCORE', set, id))
    old = was_due
  end
  -- A lease that expired stays valid unless another worker has claimed the poll.
  if holder and holder ~= ARGV[i + 2] then lost[#lost + 1] = (i - claims_from) / 3
  elseif holder or (was_due and was_due <= now) then
    store_lease(leases, leased, member, ARGV[i + 2], ends, was_due)
    move_due(set, id, old)
  end
end
extend_lease_keys(leases, leased)
return lost
