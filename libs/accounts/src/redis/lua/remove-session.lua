--- Ends a session and records its revocation.
-- @key session      Hash of the session.
-- @key revocations  Stream of the recent revocations.
-- @arg id           The session's id.
-- @arg own_prefix   Prefix of the keys of the sorted sets of API keys' session ids, in the same hash slot.
-- @reply            1, or 0 if the session was not found.
--- @include "includes/end-session.lua"

local key_id = redis.call('HGET', session, 'keyId')
if not key_id then return 0 end
return end_session(session, own_prefix .. key_id, revocations, id) and 1 or 0
