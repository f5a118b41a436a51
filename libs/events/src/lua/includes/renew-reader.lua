--- Renews the lease of a log's reader, for scripts that store data derived from events.

-- Renews the lease for this many ms and returns true if the reader with this token holds it.
local function renew_reader_lease(lease, token, ms)
  if redis.call('GET', lease) ~= token then return false end
  redis.call('PEXPIRE', lease, ms)
  return true
end
