--- Reads the histogram of the contacts' message rates.
-- @key rates       Hash from a bucket of message rates to its number of contacts.
-- @key due         Sorted set of contacts by when they are polled next, in ms.
-- @reply           An array.
-- @field rates     Pairs of a bucket and its number of contacts.
-- @field contacts  Number of contacts that are polled.

return {redis.call('HGETALL', rates), redis.call('ZCARD', due)}
