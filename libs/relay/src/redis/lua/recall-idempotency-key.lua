--- Looks up the send that owns an idempotency key.
-- @key idempotency  Redis key of the idempotency key.
-- @arg fingerprint  Fingerprint of the request's body.
-- @arg owner        Owner of the reservation that the request holds, or ''.
-- @reply            The id of the send that owns the key; 'busy' if another request has reserved the key or may have
--                   done so; 'reused' if the key belongs to a request with another body; or '' if a send may be stored.
--- @include "includes/idempotency.lua"

return recall(redis.call('GET', idempotency), fingerprint, owner) or ''
