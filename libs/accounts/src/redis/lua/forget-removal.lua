--- Forgets that an account was removed, once its data is gone.
-- @key removed        Hash from the id of a removed account to a note of when, until its data is gone.
-- @arg id             The account's id.
-- @arg note           The note of the removal that is over: the id may have been removed again.
-- @reply              Nothing.

if redis.call('HGET', removed, id) == note then redis.call('HDEL', removed, id) end
