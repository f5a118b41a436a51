--- Removes keys of an account, and renews the lease of the erasure, if this erasure pass still holds the lease.
-- A pass that was suspended must not remove data of a new account with the same id.
-- @key lease       Token of the erasure pass that holds the lease.
-- @keys data       Keys to remove.
-- @arg token       Token of this erasure pass.
-- @arg lease_ms    Duration of the lease in ms.
-- @reply           Number of keys removed, or -1 if this pass has lost the lease.

if redis.call('GET', lease) ~= token then return -1 end
redis.call('PEXPIRE', lease, lease_ms)
if #KEYS < data_from then return 0 end
return redis.call('UNLINK', unpack(KEYS, data_from))
