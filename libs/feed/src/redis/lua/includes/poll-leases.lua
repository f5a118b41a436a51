--- Leases contacts to the workers that poll them.
-- `leases` is a hash from `head:<id>` or `deep:<id>` to the lease, its end, and when the contact was due. `leased` is
-- a sorted set of the same members by the ends of their leases.
--
-- A claim moves the contact's due time to the end of the lease. A renewal moves the due time to the new end of the
-- lease, unless a commit or a request to poll sooner has set another time meanwhile. When a lease expires, the former
-- due time of the contact is restored, so that the contact does not wait behind contacts that became due while a dead
-- worker held the lease. If a request to poll sooner makes a contact due during its read, the next claim postpones the
-- contact to the end of the lease. The contact's record contains the request until the commit.
--- @include "@platform/redis/lua/includes/now.lua"

local now = now_ms()

local function store_lease(leases, leased, member, lease, ends, was_due)
  redis.call('HSET', leases, member, lease .. ' ' .. string.format('%d %d', ends, was_due or ends))
  redis.call('ZADD', leased, string.format('%d', ends), member)
end

-- A killed worker may leave leases of removed contacts. A later claim removes them. If no claim follows, the keys
-- expire.
local function extend_lease_keys(leases, leased)
  redis.call('PEXPIRE', leases, 3600000)
  redis.call('PEXPIRE', leased, 3600000)
end

local function lease_of(leases, member)
  local lease, ends, was_due = string.match(redis.call('HGET', leases, member) or '', '^(%S+) (%d+) ?(%d*)$')
  return lease, tonumber(ends), tonumber(was_due)
end

-- Adds to the reply the time at which the next contact is due, and in how many ms that is.
local function with_next_due(reply, sets)
  local next_due
  for _, set in pairs(sets) do
    local at = tonumber(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
    if at and (not next_due or at < next_due) then next_due = at end
  end
  if next_due then
    reply[#reply + 1] = string.format('%d', next_due)
    reply[#reply + 1] = string.format('%d', math.max(next_due - now, 0))
  end
  return reply
end
