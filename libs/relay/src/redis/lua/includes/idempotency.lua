--- Interprets the value of an idempotency key.
-- The value is `~` and the owner of a reservation, or the fingerprint of a body and the id of its send.

-- Returns the id of the send that owns the key; 'busy' if another request has reserved the key or may have done so;
-- 'reused' if the key belongs to a request with another body; or nil if a send may be stored.

local function recall(taken, fingerprint, owner)
  if not taken then return owner ~= '' and 'busy' or nil end
  if string.sub(taken, 1, 1) == '~' then
    if taken == '~' .. owner then return nil end
    return 'busy'
  end
  local first, id = string.match(taken, '^(%w+) (.+)$')
  return first == fingerprint and id or 'reused'
end
