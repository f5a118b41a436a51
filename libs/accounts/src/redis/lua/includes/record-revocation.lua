--- Records that a token, a session or an API key was revoked.

-- Maximum number of recorded revocations. Gateways read them several times a second.
local MAX_REVOCATIONS = 10000
-- Time after the last revocation for which the revocations are kept, in ms.
local REVOCATIONS_KEPT_MS = 3600000

-- A script must have removed something before it calls this function. A script whose first write needs memory fails
-- while Redis is full, but a revocation must succeed even then.
local function record_revocation(revocations, id)
  redis.call('XADD', revocations, 'MAXLEN', '~', MAX_REVOCATIONS, '*', 'id', id)
  redis.call('PEXPIRE', revocations, REVOCATIONS_KEPT_MS)
end
