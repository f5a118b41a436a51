--- Removes keys of an account while this pass holds the lease of its erasure.
-- A pass that was suspended for long must not touch an account that was created under the same id since.
-- @key lease       Token of the pass that erases the account.
-- @keys data       Keys to remove.
-- @arg token       Token of this pass.
-- @arg lease_ms    Length of the lease in ms.
-- @reply           Number of keys removed, or -1 if another pass holds the lease.

if redis.call('GET', lease) ~= token then return -1 end
redis.call('PEXPIRE', lease, lease_ms)
if #KEYS < data_from then return 0 end
return redis.call('UNLINK', unpack(KEYS, data_from))
