--- Commits polls of contacts that found nothing new, and ends their claims.
-- A commit is refused if the record's version or the Redis run changed since the record was read.
-- @key due               Sorted set of contacts by when they are polled next, in ms.
-- @key deep              Sorted set of contacts by when their read of older messages is due, in ms.
-- @key leases            Hash from `head:<id>` or `deep:<id>` to its lease.
-- @key leased            Sorted set of the same members by the ends of their leases, in ms.
-- @key list              Hash of the contact list as it was last read.
-- @key rates             Hash from a bucket of message rates to its number of contacts.
-- @key facts             Hash of the statistics of the account's polls.
-- @key slot              Hash of the detection delays in the current time slot.
-- @arg contact_prefix    Prefix of the keys of contacts' records, in the slot of the keys.
-- @arg messages_shown_at When the latest poll that returned a message began, in ms, or ''.
-- @arg count             Number of polls.
-- @args polls            For each poll: the contact's id, the lease or '', the version and the Redis run with which the
--                        record was read, the extension of the poll state, the bucket of the contact's message
--                        rate, and in how many ms the contact is polled next; then the reports
--                        (`pollReportLuaArguments`).
-- @reply                 An array.
-- @field next_due        When the next contact is due: time in ms, and in how many ms; empty if none is scheduled.
-- @fields committed      For each poll 1, or 0 if its commit was refused.
--- @include "includes/poll-leases.lua"
--- @include "includes/texts.lua"
--- @include "includes/rates.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"
--- @include "../../delay/lua/includes/poll-report.lua"

-- Number of arguments of a poll.
local POLL_LENGTH = 7

local function store_extension(contact, extension, second_piece)
  -- The stored and the new extension nearly always consist of one piece (see `texts.lua`).
  if #extension <= 63 and not second_piece then redis.call('HSET', contact, 'x0', extension)
  else put_text(contact, 'x', extension) end
end

local function end_lease(id, lease)
  local member = 'head:' .. id
  local holder = lease_of(leases, member)
  if holder and holder ~= lease then return end
  redis.call('HDEL', leases, member)
  redis.call('ZREM', leased, member)
end

local function commit(id, lease, version, run, extension, bucket, due_in)
  local contact = contact_prefix .. id
  local record = redis.call('HMGET', contact, 'v', 'lost', 'failed', 'hastenedTo', 'b', 'x1')
  if record[1] ~= version or run ~= redis_run() then return 0 end
  store_extension(contact, extension, record[6])
  if record[2] or record[3] then redis.call('HDEL', contact, 'lost', 'failed') end
  -- A contact that was deleted meanwhile is no longer scheduled.
  if redis.call('ZSCORE', due, id) then
    if record[5] ~= bucket then count_rate(contact, rates, bucket) end
    local at = now + tonumber(due_in)
    -- If a poll was requested for an earlier time meanwhile, the contact is due at that time.
    if record[4] then at = math.min(at, tonumber(record[4])) end
    redis.call('ZADD', due, whole(at), id)
  end
  if lease ~= '' then end_lease(id, lease) end
  return 1
end

local reply, at = {false}, polls_from
for _ = 1, tonumber(count) do
  reply[#reply + 1] = commit(unpack(ARGV, at, at + POLL_LENGTH - 1))
  at = at + POLL_LENGTH
end
if messages_shown_at ~= '' then redis.call('HSET', list, 'shownAt', messages_shown_at) end
while at <= #ARGV do at = record_report(facts, slot, at) end
reply[1] = with_next_due({}, {due, deep})
return reply
