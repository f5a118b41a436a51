--- Claims the contact that has been due longest, together with a token for its first request.
-- The reply is positional: its fields depend on the outcome.
-- @key budget          Hash of the account's token bucket.
-- @key due             Sorted set of contacts by when they are polled next, in ms.
-- @key deep            Sorted set of contacts by when their read of older messages is due, in ms.
-- @key leases          Hash from `head:<id>` or `deep:<id>` to its lease.
-- @key leased          Sorted set of the same members by the ends of their leases, in ms.
-- @arg rate            Configured budget of the account, in requests per second.
-- @arg lease_ms        Duration of the lease in ms.
-- @arg lease           Id of the lease.
-- @arg contact_prefix  Prefix of the keys of contacts' records, in the slot of the keys.
-- @reply               'claimed', kind, contact id, overdue time in ms, consecutive failures, requests per second
--                      that polls can count on, next due; 'wait', ms; or 'idle', next due. Next due is the time in
--                      ms, and in how many ms; both are absent if no contact is scheduled.
--- @include "@upstream/budget/lua/includes/token-bucket.lua"
--- @include "includes/poll-leases.lua"

-- Maximum number of expired leases that one claim ends.
local MAX_TAKEN_BACK = 20

local SETS, FAILED = {head = due, deep = deep}, {head = 'failed', deep = 'failedDeep'}
for _, member in ipairs(redis.call('ZRANGE', leased, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_TAKEN_BACK)) do
  local kind, id = string.match(member, '^(%a+):(.*)$')
  local _, ends, was_due = lease_of(leases, member)
  if was_due and tonumber(redis.call('ZSCORE', SETS[kind], id)) == ends then
    redis.call('ZADD', SETS[kind], 'XX', string.format('%d', was_due), id)
  end
  redis.call('ZREM', leased, member)
end
local function first_due(kind)
  while true do
    local id, at = unpack(redis.call('ZRANGE', SETS[kind], '-inf', now, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'))
    if not id then return nil end
    local _, ends = lease_of(leases, kind .. ':' .. id)
    if not ends or ends <= now then return id, tonumber(at) end
    redis.call('ZADD', SETS[kind], 'XX', string.format('%d', ends), id)
  end
end
local head, head_at = first_due('head')
local deep_id, deep_at = first_due('deep')
if not head and not deep_id then return with_next_due({'idle'}, SETS) end
-- The share of reads of older messages grows with their delay: from 1 % of what polls get to 20 % after an hour.
if deep_id then
  local share = string.format('%.3f', 0.01 + 0.19 * math.min((now - deep_at) / 3600000, 1))
  if redis.call('HGET', budget, 'deepShare') ~= share then redis.call('HSET', budget, 'deepShare', share) end
end
local kind, id, at = 'head', head, head_at
if not head or (deep_id and tonumber(redis.call('HGET', budget, 'credit') or 0) >= 1) then
  kind, id, at = 'deep', deep_id, deep_at
end
local wait, _, available = take_token(budget, tonumber(rate), kind == 'head' and 'poll' or 'deep', 0, head ~= nil)
if wait > 0 then return {'wait', wait} end
local ends = now + tonumber(lease_ms)
put_lease(leases, leased, kind .. ':' .. id, lease, ends, at)
redis.call('ZADD', SETS[kind], 'XX', string.format('%d', ends), id)
-- The next due read of the newest messages counts as waiting from now on. Otherwise a read of older messages could
-- take the next token.
if kind == 'head' and first_due('head') then note_waiting(budget, 'poll') end
return with_next_due({'claimed', kind, id, string.format('%d', now - at),
  redis.call('HGET', contact_prefix .. id, FAILED[kind]) or '0', tostring(available)}, SETS)
