--- Takes the hint that the contact list should be read.
-- @key list        Hash of the contact list as it was last read.
-- @reply           1, or 0 if there was no hint since the last time.

return redis.call('HDEL', list, 'wished')
