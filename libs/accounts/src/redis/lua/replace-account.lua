--- Replaces an account that nobody changed since it was read.
-- @key accounts       Hash of the accounts by id, as JSON.
-- @key version        Number of changes of accounts.
-- @arg id             The account's id.
-- @arg expected       The account as it was read.
-- @arg replacement    The account as JSON.
-- @reply              1, or 0 if the account was changed or removed.

if redis.call('HGET', accounts, id) ~= expected then return 0 end
redis.call('HSET', accounts, id, replacement)
redis.call('INCR', version)
return 1
