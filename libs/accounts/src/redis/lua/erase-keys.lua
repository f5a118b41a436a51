--- Removes keys of an account if this pass still holds the lease of the erasure.
-- A pass that was suspended must not touch a new account with the same id.
-- @key lease       Token of the pass that erases the account.
-- @keys data       Keys to remove.
-- @arg token       Token of this pass.
-- @arg lease_ms    Duration of the lease in ms.
-- @reply           Number of keys removed, or -1 if another pass holds the lease.

if redis.call('GET', lease) ~= token then return -1 end
redis.call('PEXPIRE', lease, lease_ms)
if #KEYS < data_from then return 0 end
return redis.call('UNLINK', unpack(KEYS, data_from))
