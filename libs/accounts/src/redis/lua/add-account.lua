--- Adds an account.
-- @key accounts      Hash of the accounts by id, as JSON.
-- @key removed       Hash from the id of a removed account to the time of its removal, until its data is erased.
-- @key version       Counter of the changes of accounts.
-- @arg id            The account's id.
-- @arg account       The account as JSON.
-- @arg max_accounts  Maximum number of accounts.
-- @reply             'added', or why not: 'taken', 'removing' or 'full'.

if redis.call('HEXISTS', accounts, id) == 1 then return 'taken' end
if redis.call('HEXISTS', removed, id) == 1 then return 'removing' end
if redis.call('HLEN', accounts) >= tonumber(max_accounts) then return 'full' end
redis.call('HSET', accounts, id, account)
redis.call('INCR', version)
return 'added'
