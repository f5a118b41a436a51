--- Takes the lease of an account's erasure, unless another erasure pass holds the lease.
-- @key lease       Token of the erasure pass that holds the lease.
-- @arg token       Token of this erasure pass.
-- @arg lease_ms    Duration of the lease in ms.
-- @reply           1, or 0 if another pass holds the lease.

if redis.call('EXISTS', lease) == 1 then return 0 end
-- Because the first write is a removal, a full Redis accepts all writes of this script. The erasure then frees memory.
redis.call('DEL', lease)
redis.call('SET', lease, token, 'PX', lease_ms)
return 1
