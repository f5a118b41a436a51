--- Ends a session and records its revocation.
-- @key session      Hash of the session.
-- @key revocations  Stream of the recent revocations.
-- @arg id           The session's id.
-- @arg own_prefix   What precedes an API key's id in the key of the sorted set of its sessions' ids.
-- @reply            1, or 0 if the session was not found.
--- @include "includes/end-session.lua"

local key_id = redis.call('HGET', session, 'keyId')
if not key_id then return 0 end
return end_session(session, own_prefix .. key_id, revocations, id) and 1 or 0
