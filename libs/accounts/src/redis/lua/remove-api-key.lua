--- Removes an API key and records its revocation.
-- @key api_keys      Hash of the API keys by id, as JSON.
-- @key own_api_keys  Set of the ids of the account's API keys.
-- @key uses          Hash of the time of each API key's last use, in ms, by the key's id.
-- @key revocations   Stream of the recent revocations.
-- @arg id            The key's id.
-- @reply             1, or 0 if the key was not found.
--- @include "includes/record-revocation.lua"

redis.call('SREM', own_api_keys, id)
redis.call('HDEL', uses, id)
if redis.call('HDEL', api_keys, id) == 0 then return 0 end
record_revocation(revocations, id)
return 1
