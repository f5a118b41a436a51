--- Deletes the record of an account's removal, once the account's data is erased.
-- @key removed     Hash from the id of a removed account to the time of its removal, until its data is erased.
-- @arg id          The account's id.
-- @arg note        The record of the completed removal. A later removal of the same id has another record and
--                  stays.
-- @reply           Nothing.

if redis.call('HGET', removed, id) == note then redis.call('HDEL', removed, id) end
