--- Raises a reduced budget after a successful answer.
-- @key bucket      Hash of the account's token bucket.
-- @arg rate        Configured budget of the account, in requests per second.
-- @arg share       Share of the rate by which the budget grows.
-- @reply           1 if the budget is still below the rate, else 0.

local full_rate = tonumber(rate)
local limit = redis.call('HGET', bucket, 'limit')
if not limit then return 0 end
limit = tonumber(limit) + full_rate * share
if limit >= full_rate then
  redis.call('HDEL', bucket, 'limit')
  return 0
end
redis.call('HSET', bucket, 'limit', string.format('%.6f', limit))
return 1
