--- Stores a send, with the Redis run that the connection last saw.
-- A send that is already stored, because the reply to the first call was lost, stays unchanged. If the request's
-- reservation of the idempotency key has expired, the send is not stored, because another request may hold the key.
-- @key send            Hash of the send.
-- @key lane            List of the sends in the recipient's lane.
-- @key lanes_due       Sorted set of recipients by when their lane is due, in ms.
-- @key lanes_since     Sorted set of sends by when they joined their lane, in ms.
-- @key lane_depths     Sorted set of recipients by the number of sends in their lane.
-- @key scheduled       Sorted set of scheduled sends by their time.
-- @key idempotency     Redis key of the idempotency key; any key if the request has no idempotency key.
-- @key last_number     Number of the send that was accepted last.
-- @key expiring        Sorted set of sends by when they expire.
-- @key poll_facts      Hash of the statistics of the account's polls.
-- @key rows            Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order       Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends       Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key row_words       Sorted set of search words, each followed by a zero byte and the id of a row.
-- @key row_revision    Latest revision that was assigned, over all rows of the account.
-- @key numbers         Hash from a phone number to its most likely contact.
-- @key quota           Set of the sends that count towards the caller's quota; any key if the caller has no quota.
-- @key status_scheduled Set of the scheduled sends.
-- @key status_queued   Set of the queued sends.
-- @key status_relaying  Set of the relaying sends.
-- @keys sets           The set of the send's status, and the sets that list the send until it is removed.
-- @arg id              The send's id.
-- @arg order           The unchanging part of the send without the time of the acceptance, as JSON.
-- @arg state           State of the send without the time of its last change, as JSON.
-- @arg recipient       Phone number of the recipient.
-- @arg send_at         Time at which the send is due, in ms, or ''.
-- @arg fingerprint     Fingerprint of the request's body, or '' without an idempotency key.
-- @arg idempotency_ms  Time for which the idempotency key belongs to the send, in ms.
-- @arg owner           Owner of the reservation of the idempotency key, or ''.
-- @arg expires_at      Time at which the send expires, in ms, or ''.
-- @arg rows_kept       'on' if rows are kept, or 'off'.
-- @arg accepted_at     Time of the acceptance, in ms, or '' for the current time.
-- @arg run             Redis run, as the connection last saw it, or '' for the current one.
-- @arg preview         Beginning of the text, or ''.
-- @arg notice          The send's status as JSON, for event streams.
-- @arg max_unfinished  Maximum number of unfinished sends of the caller, or '' if the caller has no quota.
-- @arg quota_kept      Time for which the quota remembers its sends after they are due, in ms.
-- @reply               'new'; 'reused' if the idempotency key belongs to a request with another body; 'busy' if another
--                      request has reserved the key or may have done so; 'quotaExceeded'; or the id of the send that
--                      already owns the key.
--- @include "includes/send-lanes.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"
--- @include "includes/idempotency.lua"
--- @include "includes/clock-difference.lua"
--- @include "@conversations/redis/lua/includes/row-sends.lua"

-- Returns the number of unfinished sends of the quota. Removes finished sends from the set of the quota, because the
-- scripts that finish a send do not know the quota.
local function unfinished_sends()
  for _, member in ipairs(redis.call('SMEMBERS', quota)) do
    if not (redis.call('ZSCORE', status_scheduled, member) or redis.call('ZSCORE', status_queued, member)
      or redis.call('ZSCORE', status_relaying, member)) then
      redis.call('SREM', quota, member)
    end
  end
  return redis.call('SCARD', quota)
end

if redis.call('EXISTS', send) == 1 then return 'new' end
if fingerprint ~= '' then
  local earlier = recall(redis.call('GET', idempotency), fingerprint, owner)
  if earlier then return earlier end
end
local now = now_ms()
if max_unfinished ~= '' then
  local max = tonumber(max_unfinished)
  if redis.call('SCARD', quota) >= max and unfinished_sends() >= max then return 'quotaExceeded' end
  local due = send_at == '' and now or tonumber(send_at)
  local forgotten = math.max(redis.call('PEXPIRETIME', quota), due + tonumber(quota_kept))
  redis.call('SADD', quota, id)
  redis.call('PEXPIREAT', quota, whole(forgotten))
end
if fingerprint ~= '' then redis.call('SET', idempotency, fingerprint .. ' ' .. id, 'PX', idempotency_ms) end
local created_at = accepted_at == '' and whole(now) or accepted_at

-- Puts a time in front of the fields of an object.
local function with_time(name, json) return '{"' .. name .. '":' .. created_at .. ',' .. string.sub(json, 2) end

order, state = with_time('createdAt', order), with_time('updatedAt', state)
local ahead = upstream_ahead()
if ahead ~= '' then order = '{"upstreamAheadMs":' .. ahead .. ',' .. string.sub(order, 2) end
local place = redis.call('INCR', last_number)
if run == '' then run = redis_run() end
-- The row counts the send as pending.
local counted = rows_kept == 'on' and {'row', 'p'} or {}
redis.call('HSET', send, 'order', order, 'state', state, 'revision', 0, 'life', run, 'place', place, unpack(counted))
for i = sets_from, #KEYS do redis.call('ZADD', KEYS[i], place, id) end
if expires_at ~= '' then redis.call('ZADD', expiring, expires_at, id) end
if send_at ~= '' then
  redis.call('ZADD', scheduled, send_at, scheduled_as(send, id))
else
  join_lane(lane, lanes_due, lanes_since, lane_depths, id, recipient, now)
end
if rows_kept == 'on' then add_send_to_row(recipient, id, created_at, preview) end
publish_change('send ' .. notice)
return 'new'
