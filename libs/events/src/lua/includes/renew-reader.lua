--- Renews the lease of the one reader of a log, for scripts that store what is derived from events.

-- Returns true, and renews the lease for this many ms, if the reader with this token holds it.
local function keep_reading(lease, token, ms)
  if redis.call('GET', lease) ~= token then return false end
  redis.call('PEXPIRE', lease, ms)
  return true
end
