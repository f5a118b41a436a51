--- Releases the lease of an erasure if this pass holds it.
-- @key lease       Token of the pass that erases the account.
-- @arg token       Token of this pass.
-- @reply           Nothing.

if redis.call('GET', lease) == token then redis.call('DEL', lease) end
