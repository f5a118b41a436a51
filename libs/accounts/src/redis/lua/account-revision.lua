--- Returns a text that changes whenever an account changes.
-- Earlier builds do not count their changes; the number of accounts shows when they add or remove one.
-- @key accounts    Hash of the accounts by id, as JSON.
-- @key version     Counter of the changes of accounts.
-- @reply           Number of changes, and number of accounts.

return (redis.call('GET', version) or '0') .. ' ' .. redis.call('HLEN', accounts)
