--- Stores a send once, with the Redis run in which it is stored.
-- A send that is stored already, whose reply was lost with the connection, is left unchanged. A reservation of an
-- idempotency key that is over does not hold the key: another request may have it.
-- @key send            Hash of the send.
-- @key lane            List of the sends in the recipient's lane.
-- @key lanes_due       Sorted set of recipients by when their lane is due, in ms.
-- @key lanes_since     Sorted set of sends by when they joined their lane, in ms.
-- @key lane_depths     Sorted set of recipients by the number of sends in their lane.
-- @key scheduled       Sorted set of scheduled sends by their time.
-- @key idempotency     What the idempotency key holds; any key if there is none.
-- @key places          Number of the last place in the order of acceptance.
-- @key expiring        Sorted set of sends by when they expire.
-- @keys sets           The set of the send's status, and the sets that list it as long as it is kept.
-- @arg id              The send's id.
-- @arg order           What was ordered, as JSON.
-- @arg state           State of the send, as JSON.
-- @arg recipient       Phone number of the recipient.
-- @arg send_at         Time at which the send is due, in ms, or ''.
-- @arg fingerprint     Fingerprint of the request's body, or '' without an idempotency key.
-- @arg idempotency_ms  How long an idempotency key stands for its send, in ms.
-- @arg owner           Owner of the reservation of the idempotency key, or ''.
-- @arg expires_at      Time at which the send expires, in ms, or ''.
-- @reply               'new', 'reused', 'busy', or the id of the send that the idempotency key already stands for.
--- @include "includes/send-lanes.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"
--- @include "includes/idempotency.lua"

if redis.call('EXISTS', send) == 1 then return 'new' end
if fingerprint ~= '' then
  local earlier = recall(redis.call('GET', idempotency), fingerprint, owner)
  if earlier then return earlier end
  redis.call('SET', idempotency, fingerprint .. ' ' .. id, 'PX', idempotency_ms)
end
local place = redis.call('INCR', places)
redis.call('HSET', send, 'order', order, 'state', state, 'revision', 0, 'life', redis_run(), 'place', place)
for i = sets_from, #KEYS do redis.call('ZADD', KEYS[i], place, id) end
if expires_at ~= '' then redis.call('ZADD', expiring, expires_at, id) end
if send_at ~= '' then
  redis.call('ZADD', scheduled, send_at, scheduled_as(send, id))
else
  join_lane(lane, lanes_due, lanes_since, lane_depths, id, recipient, now_ms())
end
return 'new'
