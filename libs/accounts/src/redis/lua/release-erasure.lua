--- Releases the lease of an account's erasure if this erasure pass holds the lease.
-- @key lease       Token of the erasure pass that holds the lease.
-- @arg token       Token of this erasure pass.
-- @reply           Nothing.

if redis.call('GET', lease) == token then redis.call('DEL', lease) end
