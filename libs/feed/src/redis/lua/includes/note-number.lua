--- Records which contact a phone number belongs to.
-- A message from or to the number is better evidence than a field of the contact, because the field may contain the
-- number of another person. Of several contacts with such messages, the number leads to the one whose message is the
-- latest.
-- @uses numbers        Hash from a phone number to its most likely contact. All builds use it.
-- @uses other_numbers  Hash from a phone number to its other contacts, as JSON, the most likely first.
-- @uses number_times   Hash from a phone number to the time of its latest message in ms, and the contact of that
--                      message. If `numbers` has another contact, an earlier build has changed it.
-- @uses contacts       Hash from a contact's id to the contact as it was listed.
--- @include "is-present.lua"

-- Maximum number of contacts per number. Many contacts may share the number of a switchboard; the contacts with the
-- latest messages are kept.
local MAX_CONTACTS = 20

-- Returns the time of the latest message that shows that the number is the contact's, or nil if it is unknown.
local function last_use(number, id)
  local at, of = string.match(redis.call('HGET', number_times, number) or '', '^(%d+) (.*)$')
  return of == id and tonumber(at) or nil
end

-- Returns true if the number is newly assigned to the contact, and the contact to which it was assigned before.
-- `used_at` is the time of the message that shows that the number is the contact's, in ms; nil if only a field of the
-- contact contains the number.
local function note_number(number, id, used_at)
  local first = redis.call('HGET', numbers, number)
  local last = first and last_use(number, first)
  local is_latest = used_at and (not last or tonumber(used_at) >= last)
  if is_latest then redis.call('HSET', number_times, number, used_at .. ' ' .. id) end
  if first == id then return false end
  if not first then
    redis.call('HSET', numbers, number, id)
    return true
  end
  local before = redis.call('HGET', other_numbers, number)
  local kept, was_kept = {}, false
  for _, other in ipairs(before and cjson.decode(before) or {}) do
    if other == id then was_kept = true else kept[#kept + 1] = other end
  end
  local takes_over = is_latest or not is_present(first)
  if takes_over then
    table.insert(kept, 1, first)
    redis.call('HSET', numbers, number, id)
  elseif used_at then table.insert(kept, 1, id)
  elseif was_kept then return false
  else kept[#kept + 1] = id end
  for n = #kept, MAX_CONTACTS, -1 do kept[n] = nil end
  redis.call('HSET', other_numbers, number, cjson.encode(kept))
  return takes_over, takes_over and first
end
