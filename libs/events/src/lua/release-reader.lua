--- Releases the lease of the reader if this reader holds it.
-- @key lease       Token of the current reader.
-- @arg token       Token of this reader.
-- @reply           Nothing.

if redis.call('GET', lease) == token then redis.call('DEL', lease) end
