--- Removes an account and its API keys, and records that its data has to be erased.
-- @key accounts      Hash of the accounts by id, as JSON.
-- @key removed       Hash from the id of a removed account to the time of its removal, until its data is erased.
-- @key api_keys      Hash of the API keys by id.
-- @key own_api_keys  Set of the ids of the account's API keys.
-- @key uses          Hash of the time of each API key's last use, in ms, by the key's id.
-- @key version       Counter of the changes of accounts.
-- @key revocations   Stream of the recent revocations.
-- @arg id            The account's id.
-- @reply             1, or 0 if the account was not found.
--- @include "@platform/redis/lua/includes/now.lua"
--- @include "includes/record-revocation.lua"

if redis.call('HDEL', accounts, id) == 0 then return 0 end
redis.call('INCR', version)
for _, key in ipairs(redis.call('SMEMBERS', own_api_keys)) do
  redis.call('HDEL', api_keys, key)
  redis.call('HDEL', uses, key)
  record_revocation(revocations, key)
end
redis.call('DEL', own_api_keys)
redis.call('HSET', removed, id, string.format('{"removedAt":%d}', now_ms()))
return 1
