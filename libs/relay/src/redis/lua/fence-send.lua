--- Marks a queued send as being posted, and takes the token of its POST, in one atomic step.
-- It does what the transition `fenced` of `transit-send.lua` does, for the usual case only. In any other case, it
-- writes at most a note that a send waits for a token. The caller then takes the token and makes the transition in two
-- steps.
-- @key send              Hash of the send.
-- @key lanes_due         Sorted set of recipients by when their lane is due, in ms.
-- @key awaiting          Sorted set of sends that await a message of the recipient.
-- @key confirms          Sorted set of sends by when the next check for their message is due.
-- @key expiring          Sorted set of sends by when they expire.
-- @key status_before     Set of the sends of the status that the send had.
-- @key status_after      Set of the sends of the status that the send gets.
-- @key upstream          Hash of the outage, if there is one.
-- @key forbidden         Number of consecutive 403 answers to POSTs.
-- @key bucket            Hash of the account's token bucket.
-- @key rows              Hash of the rows of contacts; its channel reports changes.
-- @arg id                The send's id.
-- @arg revision          Revision with which the send was read.
-- @arg nonce_before      Nonce with which the send was read.
-- @arg state             New state as JSON.
-- @arg nonce             Random id of this transition.
-- @arg recipient         Phone number of the recipient.
-- @arg lease             Time until the lane is due again, in ms.
-- @arg rate              Configured budget of the account, in requests per second.
-- @arg rows_kept         'on' if rows are kept, or 'off'.
-- @arg row_count         How a row counts the send after the transition.
-- @arg notice            The send's new status as JSON, for event streams.
-- @reply                 'fenced'; 'changed' if the send changed since it was read, or was stored in another Redis run;
--                        or 'unusual'.
--- @include "@platform/redis/lua/includes/now.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"
--- @include "@upstream/budget/lua/includes/token-bucket.lua"

local stored = redis.call('HMGET', send, 'revision', 'nonce', 'life', 'place', 'row')
if stored[1] ~= revision or (stored[2] or '') ~= nonce_before then
  return stored[2] == nonce and 'fenced' or 'changed'
end
if stored[3] ~= redis_run() then return 'changed' end
-- Not the usual case: an outage, or 403 answers whose number a successful POST must reset.
if redis.call('HEXISTS', upstream, 'unavailableSince') == 1 or redis.call('EXISTS', forbidden) == 1 then
  return 'unusual'
end
if rows_kept == 'on' and stored[5] ~= row_count then return 'unusual' end
-- Not the usual case: a successful POST must raise a reduced budget.
if redis.call('HEXISTS', bucket, 'limit') == 1 then return 'unusual' end
if take_token(bucket, tonumber(rate), 'send', 0, false) > 0 then return 'unusual' end
local now = now_ms()
redis.call('HSET', send, 'state', state, 'revision', revision + 1, 'nonce', nonce)
redis.call('ZREM', status_before, id)
redis.call('ZADD', status_after, stored[4], id)
redis.call('ZADD', lanes_due, 'XX', whole(now + lease), recipient)
redis.call('ZADD', awaiting, 'NX', whole(now), id)
redis.call('ZREM', confirms, id)
redis.call('ZREM', expiring, id)
-- `pcall`: if the Redis user lacks the right to publish, the send is fenced all the same.
redis.pcall('PUBLISH', rows .. ':changes', 'send ' .. notice)
return 'fenced'
