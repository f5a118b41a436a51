--- Removes a token and records its revocation.
-- @key token        Hash of the token.
-- @key own_tokens   Sorted set of the ids of the API key's tokens, by the time when each expires.
-- @key revocations  Stream of the recent revocations.
-- @arg id           The token's id.
-- @reply            1, or 0 if the token was not found.
--- @include "includes/record-revocation.lua"

if redis.call('DEL', token) == 0 then return 0 end
redis.call('ZREM', own_tokens, id)
record_revocation(revocations, id)
return 1
