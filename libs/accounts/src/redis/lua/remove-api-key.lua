--- Removes an API key.
-- @key api_keys      Hash of the API keys by id, as JSON.
-- @key own_api_keys  Set of the ids of the account's API keys.
-- @arg id            The key's id.
-- @reply             1, or 0 if the key was not found.

redis.call('SREM', own_api_keys, id)
return redis.call('HDEL', api_keys, id)
