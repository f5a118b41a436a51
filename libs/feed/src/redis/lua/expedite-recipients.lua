--- Makes the contacts to which phone numbers most likely belong due earlier, if they are scheduled.
-- Requests a read of the contact list if a number belongs to no contact.
-- @key numbers         Hash from a phone number to its most likely contact.
-- @key other_numbers   Hash from a phone number to its other contacts, as JSON.
-- @key contacts        Hash from a contact's id to the contact as it was listed.
-- @key list            Hash of the contact list as it was last read.
-- @key due             Sorted set of contacts by when they are polled next, in ms.
-- @constant DELETED    Status bit of a deleted contact, in the first byte of the contact as it was listed.
-- @constant ALL_BITS   All status bits together. A first byte above this number is damaged.
-- @arg contact_prefix  Prefix of the keys of the contacts' records, in the same hash slot.
-- @arg due_in          In how many ms the contacts are due at the latest.
-- @args phone_numbers  The phone numbers.
-- @reply               An array.
-- @field expedited     Number of phone numbers whose contact was found.
-- @field wished        1 if a read of the contact list was requested, else 0.
--- @include "includes/due-at.lua"

local function is_present(id)
  local status_bits = string.byte(redis.call('HGET', contacts, id) or '') or 0
  return status_bits > ALL_BITS or status_bits % (2 * DELETED) < DELETED
end
local function contact_of(number)
  local first = redis.call('HGET', numbers, number)
  if first and is_present(first) then return first end
  for _, other in ipairs(cjson.decode(redis.call('HGET', other_numbers, number) or '[]')) do
    if is_present(other) then return other end
  end
  return nil
end
local at = due_at(due_in)
local expedited, wished = 0, 0
for i = phone_numbers_from, #ARGV do
  local id = contact_of(ARGV[i])
  if id then
    redis.call('HINCRBY', contact_prefix .. id, 'hastened', 1)
    redis.call('HSET', contact_prefix .. id, 'hastenedTo', at)
    redis.call('ZADD', due, 'XX', 'LT', at, id)
    expedited = expedited + 1
  else wished = 1 end
end
if wished == 1 then redis.call('HSET', list, 'wished', 1) end
return {expedited, wished}
