--- Returns a text that changes whenever an account changes.
-- Earlier builds do not count changes. Only the number of accounts may reveal those.
-- @key accounts       Hash of the accounts by id, as JSON.
-- @key version        Number of changes of accounts.
-- @reply              Number of changes, and number of accounts.

return (redis.call('GET', version) or '0') .. ' ' .. redis.call('HLEN', accounts)
