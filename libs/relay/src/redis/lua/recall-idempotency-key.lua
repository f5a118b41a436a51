--- Looks up the send that owns an idempotency key.
-- @key idempotency  Redis key of the idempotency key.
-- @arg fingerprint  Fingerprint of the request's body.
-- @arg owner        Owner of the reservation that the request holds, or ''.
-- @reply            The id of the key's send, 'busy', 'reused', or '' if a send may be stored under the key.
--- @include "includes/idempotency.lua"

return recall(redis.call('GET', idempotency), fingerprint, owner) or ''
