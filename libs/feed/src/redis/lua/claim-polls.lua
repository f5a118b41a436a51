--- Claims the contacts that have been due longest, each together with a token for its first request.
-- @key budget           Hash of the account's token bucket.
-- @key due              Sorted set of contacts by when they are polled next, in ms.
-- @key deep             Sorted set of contacts by when their read of older messages is due, in ms.
-- @key leases           Hash from `head:<id>` or `deep:<id>` to its lease.
-- @key leased           Sorted set of the same members by the ends of their leases, in ms.
-- @key list             Hash of the contact list as it was last read.
-- @key contacts         Hash from a contact's id to the contact as it was listed.
-- @key log              Stream of the account's events.
-- @key log_counters     Hash of the log's counters.
-- @key rows             Hash from a contact's id to its row.
-- @key upstream         Hash of the account's outage.
-- @arg rate             Configured budget of the account, in requests per second.
-- @arg lease_ms         Duration of the lease in ms.
-- @arg contact_prefix   Prefix of the keys of contacts' records, in the same hash slot.
-- @arg messages_prefix  Prefix of the keys of contacts' messages, in the same hash slot.
-- @arg full_share_ms    Delay of a read of older messages, in ms, after which such reads get their full share of the
--                       budget.
-- @args leases_of       Ids of the leases, one for each contact that may be claimed.
-- @reply                An array.
-- @field wait_ms        Time until the next claim may succeed, in ms, if the budget ran out; otherwise 0.
-- @field next_due       When the next contact is due: time in ms, and in how many ms; empty if none is scheduled.
-- @field available      Requests per second that are available to polls.
-- @field is_available   1 if the account has no outage, or 0.
-- @fields claims        For each claimed contact: kind, id, overdue time in ms, consecutive failures, and its state
--                       (`CONTACT_STATE_FIELDS`; empty for a read of older messages).
--- @include "@upstream/budget/lua/includes/token-bucket.lua"
--- @include "includes/poll-leases.lua"
--- @include "includes/contact-state.lua"

-- Maximum number of expired leases that one claim ends.
local MAX_EXPIRED_LEASES = 20

local SETS, FAILED = {head = due, deep = deep}, {head = 'failed', deep = 'failedDeep'}
for _, member in ipairs(redis.call('ZRANGE', leased, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_EXPIRED_LEASES)) do
  local kind, id = string.match(member, '^(%a+):(.*)$')
  local _, ends, was_due = lease_of(leases, member)
  local at = tonumber(redis.call('ZSCORE', SETS[kind], id))
  if not at then
    -- The contact was removed, or its read of older messages is over.
    redis.call('HDEL', leases, member)
  elseif was_due and at == ends then
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
if not head and not deep_id then return {0, with_next_due({}, SETS), '0', 1} end
local b = token_bucket(budget, tonumber(rate))
-- The share of reads of older messages grows with their delay: from 1 % of what polls get to 20 %.
if deep_id then
  local share = string.format('%.3f', 0.01 + 0.19 * math.min((now - deep_at) / tonumber(full_share_ms), 1))
  if tonumber(share) ~= b.deep_share then
    b.deep_share, b.changed.deepShare = tonumber(share), share
  end
end
local account
local claims, wait = {}, 0
for i = leases_of_from, #ARGV do
  local kind, id, at = 'head', head, head_at
  if not head or (deep_id and b.credit >= 1) then kind, id, at = 'deep', deep_id, deep_at end
  if not id then break end
  wait = take_from(b, kind == 'head' and 'poll' or 'deep', 0, head ~= nil)
  if wait > 0 then break end
  local ends = now + tonumber(lease_ms)
  store_lease(leases, leased, kind .. ':' .. id, ARGV[i], ends, at)
  redis.call('ZADD', SETS[kind], 'XX', string.format('%d', ends), id)
  local state = {}
  if kind == 'head' then
    account = account or read_account_state()
    state = read_contact_state(account, contact_prefix .. id, messages_prefix .. id, id)
  end
  claims[#claims + 1] = {kind, id, string.format('%d', now - at),
    redis.call('HGET', contact_prefix .. id, FAILED[kind]) or '0', state}
  if kind == 'head' then head, head_at = first_due('head') else deep_id, deep_at = first_due('deep') end
  -- The next due read of the newest messages counts as waiting from now on. Otherwise a read of older messages could
  -- take the next token.
  if kind == 'head' and head then note_waiting(b, 'poll') end
end
if #claims > 0 then extend_lease_keys(leases, leased) end
put_token_bucket(budget, b)
return {wait, with_next_due({}, SETS), tostring(available_for_polls(b)),
  redis.call('HEXISTS', upstream, 'unavailableSince') == 1 and 0 or 1, unpack(claims)}
