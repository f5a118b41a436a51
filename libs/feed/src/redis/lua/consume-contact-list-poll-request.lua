--- Clears the request to read the contact list.
-- @key list        Hash of the contact list as it was last read.
-- @reply           1 if a read was requested since the last call, else 0.

return redis.call('HDEL', list, 'wished')
