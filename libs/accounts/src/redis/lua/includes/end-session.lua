--- Ends a session and records its revocation.
--- @include "record-revocation.lua"

-- Returns true if the session existed.
local function end_session(session, own_sessions, revocations, id)
  if redis.call('DEL', session) == 0 then return false end
  redis.call('ZREM', own_sessions, id)
  record_revocation(revocations, id)
  return true
end
