--- Reserves an idempotency key for a request whose body is still being read.
-- @key idempotency  Redis key of the idempotency key.
-- @arg owner        Owner of the reservation.
-- @arg lease        Duration of the reservation in ms.
-- @reply            0 if another request holds a reservation, else 1. Also 1 if a send already owns the key.

local taken = redis.call('GET', idempotency)
if not taken or taken == '~' .. owner then
  redis.call('SET', idempotency, '~' .. owner, 'PX', lease)
  return 1
end
return string.sub(taken, 1, 1) == '~' and 0 or 1
