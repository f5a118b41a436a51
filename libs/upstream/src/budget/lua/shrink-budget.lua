--- Halves the budget after a 429, to at least a sixteenth of the rate, and empties the bucket.
-- The bucket is emptied because upstream would reject further requests at once.
-- @key bucket      Hash of the account's token bucket.
-- @arg rate        Configured budget of the account, in requests per second.
-- @arg burst_ms    Time in which further 429s belong to the same burst and have no effect, in ms.
-- @reply           1, or 0 if the same burst already reduced the budget.

local full_rate = tonumber(rate)
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state = redis.call('HMGET', bucket, 'limit', 'shrunkAt')
-- Redis' clock may have been set back since the last reduction.
if state[2] and now >= tonumber(state[2]) and now - state[2] < tonumber(burst_ms) then return 0 end
local limit = math.max(math.min(full_rate, tonumber(state[1] or full_rate)) / 2, full_rate / 16)
redis.call('HSET', bucket, 'limit', string.format('%.6f', limit), 'shrunkAt', string.format('%.3f', now),
  'tokens', 0, 'at', string.format('%.3f', now))
redis.call('PEXPIRE', bucket, math.max(60000, math.ceil(2000 / limit)))
return 1
