--- Ends a poll, and schedules the next one unless a commit has scheduled it.
-- @key due            Sorted set of contacts by when they are polled next, in ms.
-- @key deep           Sorted set of contacts by when their read of older messages is due, in ms.
-- @key leases         Hash from `head:<id>` or `deep:<id>` to its lease.
-- @key leased         Sorted set of the same members by the ends of their leases, in ms.
-- @key contact        Hash of the contact's record.
-- @key facts          Hash of the statistics of the account's polls.
-- @arg kind           'head' or 'deep'.
-- @arg id             The contact's id.
-- @arg lease          Id of the lease.
-- @arg outcome        'done', 'failed', 'postponed', or another outcome after which the contact is due at once.
-- @arg first_backoff  Wait after the first failure, in ms.
-- @arg max_backoff    Maximum wait after a failure, in ms.
-- @arg postponed_ms   Wait after the outcome 'postponed', in ms.
-- @reply              An array.
-- @field due_in       In how many ms the contact is due again, or -1 if that was not changed.
-- @fields next_due    When the next contact is due: time in ms, and in how many ms; empty if none is scheduled.
--- @include "includes/poll-leases.lua"

local SETS = {head = due, deep = deep}
local set = SETS[kind]
local field = kind == 'head' and 'failed' or 'failedDeep'
local holder, old = lease_of(leases, kind .. ':' .. id)
if holder and holder ~= lease then return with_next_due({-1}, SETS) end
redis.call('HDEL', leases, kind .. ':' .. id)
redis.call('ZREM', leased, kind .. ':' .. id)
local function due_in(ms)
  redis.call('ZADD', set, 'XX', string.format('%d', now + ms), id)
  return with_next_due({ms}, SETS)
end
-- Records in `facts` that a poll of the newest messages failed. A postponed poll counts too: while messages cannot be
-- read, outages interrupt most polls before these fail. The next commit of any contact deletes these fields:
-- `failedSince` and `failedAt`, times of the first and the last of the failed polls, in ms; `failedContact`, contact of
-- the last failed poll; `failures`, number of failed polls. Consecutive failures of one contact count as one, because
-- possibly no other contact is due. If the account has only one contact, each failure counts.
local function note_failed_poll()
  local since, failed_contact = unpack(redis.call('HMGET', facts, 'failedSince', 'failedContact'))
  -- If Redis' clock was set back, the time may be in the future.
  if not since or tonumber(since) > now then redis.call('HSET', facts, 'failedSince', whole(now), 'failures', 0) end
  if failed_contact ~= id or redis.call('ZCARD', due) == 1 then redis.call('HINCRBY', facts, 'failures', 1) end
  redis.call('HSET', facts, 'failedAt', whole(now), 'failedContact', id)
end
if kind == 'head' and (outcome == 'failed' or outcome == 'postponed') then note_failed_poll() end
if outcome == 'done' then
  redis.call('HDEL', contact, field)
  if old and tonumber(redis.call('ZSCORE', set, id)) == old then
    -- No commit scheduled the contact, because all commits were refused, or the contact became due again during the
    -- read.
    if kind == 'head' then return due_in(0) end
    -- The read of older messages was not scheduled again, so it is over.
    redis.call('ZREM', set, id)
  end
  return with_next_due({-1}, SETS)
end
if outcome == 'failed' then
  -- Counts the failure only if the contact has a record, because the count would create one.
  local failed = redis.call('EXISTS', contact) == 1 and redis.call('HINCRBY', contact, field, 1) or 1
  return due_in(math.min(tonumber(first_backoff) * 2 ^ math.min(failed - 1, 20), tonumber(max_backoff)))
end
-- A due time that was set meanwhile stays.
if old and tonumber(redis.call('ZSCORE', set, id)) ~= old then return with_next_due({-1}, SETS) end
return due_in(outcome == 'postponed' and tonumber(postponed_ms) or 0)
