--- Lists the API keys of an account.
-- @key api_keys      Hash of the API keys by id, as JSON.
-- @key own_api_keys  Set of the ids of the account's API keys.
-- @reply             The keys as JSON; nil for a key that was removed.

local ids = redis.call('SMEMBERS', own_api_keys)
if #ids == 0 then return {} end
return redis.call('HMGET', api_keys, unpack(ids))
