--- Replaces an account, unless it changed since it was read.
-- @key accounts     Hash of the accounts by id, as JSON.
-- @key version      Counter of the changes of accounts.
-- @arg id           The account's id.
-- @arg expected     The account as it was read.
-- @arg replacement  The account as JSON.
-- @reply            1, or 0 if the account changed or was removed.

if redis.call('HGET', accounts, id) ~= expected then return 0 end
redis.call('HSET', accounts, id, replacement)
redis.call('INCR', version)
return 1
