--- Adds an API key of an account.
-- @key accounts        Hash of the accounts by id, as JSON.
-- @key api_keys        Hash of the API keys by id, as JSON.
-- @key own_api_keys    Set of the ids of the account's API keys.
-- @arg id              The key's id.
-- @arg api_key         The key as JSON.
-- @arg account         The account's id.
-- @arg is_fixed        '1' if the environment variables define the account, which is then not stored in Redis.
-- @arg max_of_account  Maximum number of keys of an account.
-- @arg max_keys        Maximum number of keys of all accounts together.
-- @reply               'added', or why not: 'unknown' (account not found), 'full' (the account has too many keys) or
--                      'all-full' (all accounts together have too many keys).

if is_fixed ~= '1' and redis.call('HEXISTS', accounts, account) == 0 then return 'unknown' end
if redis.call('SCARD', own_api_keys) >= tonumber(max_of_account) then return 'full' end
if redis.call('HLEN', api_keys) >= tonumber(max_keys) then return 'all-full' end
redis.call('HSET', api_keys, id, api_key)
redis.call('SADD', own_api_keys, id)
return 'added'
