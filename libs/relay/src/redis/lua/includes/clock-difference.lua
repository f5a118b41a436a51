--- Reads the difference between upstream's clock and Redis' clock, which polls measure.
-- @uses poll_facts  Hash of the statistics of the account's polls.

-- Returns by how many ms upstream's clock is ahead, as text; '' if this is not known.
local function upstream_ahead()
  local low, high = unpack(redis.call('HMGET', poll_facts, 'low', 'high'))
  return low and high and whole((low + high) / 2) or ''
end
