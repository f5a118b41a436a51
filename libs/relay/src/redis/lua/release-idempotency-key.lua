--- Releases the reservation of an idempotency key.
-- @key idempotency  Redis key of the idempotency key.
-- @arg owner        Owner of the reservation.
-- @reply            1, or 0 if the owner holds no reservation.

if redis.call('GET', idempotency) == '~' .. owner then return redis.call('DEL', idempotency) end
return 0
