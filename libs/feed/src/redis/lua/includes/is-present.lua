--- Tells whether a contact was deleted.
-- @uses contacts     Hash from a contact's id to the contact as it was listed.
-- @constant DELETED  Status bit of a deleted contact, in the first byte of the contact as it was listed.
-- @constant ALL_BITS All status bits together. A first byte above this number is damaged.

local function is_present(id)
  local status_bits = string.byte(redis.call('HGET', contacts, id) or '') or 0
  return status_bits > ALL_BITS or status_bits % (2 * DELETED) < DELETED
end
