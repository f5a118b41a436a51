--- Records which contact a phone number belongs to.
-- `numbers` is a hash from a number to its most likely contact; all builds use it. `others` is a hash from a number
-- to its other contacts as JSON, the most likely first. A message from or to the number is better evidence than a
-- field of the contact, because the field may contain the number of another person.

-- Maximum number of contacts per number. Many contacts may share the number of a switchboard; the contacts with the
-- latest messages are kept.
local MAX_CONTACTS = 20

-- Returns true if the number is newly assigned to the contact, and the contact to which it was assigned before.
-- `by_message` is true if a message shows that the number is the contact's.
local function note_number(numbers, others, number, id, by_message)
  local first = redis.call('HGET', numbers, number)
  if first == id then return false end
  if not first then
    redis.call('HSET', numbers, number, id)
    return true
  end
  local before = redis.call('HGET', others, number)
  local kept, was_kept = {}, false
  for _, other in ipairs(before and cjson.decode(before) or {}) do
    if other == id then was_kept = true else kept[#kept + 1] = other end
  end
  if by_message then
    table.insert(kept, 1, first)
    redis.call('HSET', numbers, number, id)
  elseif was_kept then return false
  else kept[#kept + 1] = id end
  for n = #kept, MAX_CONTACTS, -1 do kept[n] = nil end
  redis.call('HSET', others, number, cjson.encode(kept))
  return by_message, by_message and first
end
