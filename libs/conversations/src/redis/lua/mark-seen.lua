--- Marks the inbound messages of a row up to a message as seen.
-- @key rows          Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order     Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends     Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key row_words     Sorted set of search words, each followed by a zero byte and the id of a row.
-- @key row_revision  Latest revision that was assigned, over all rows of the account.
-- @key numbers       Hash from a phone number to its most likely contact.
-- @arg id            Id of the row.
-- @arg message       Id of the message.
-- @reply             1, or 0 if the row does not exist or does not contain the message.
--- @include "includes/rows.lua"

local row = redis.call('ZSCORE', row_order, id) and load_row(id)
if not row then return 0 end
local position
for _, waiting in ipairs(row.w or {}) do
  if waiting[2] == message then position = waiting end
end
for _, other in ipairs({row.m or {}, row.o or {}}) do
  if other[2] == message then position = other end
end
if not position then return 0 end
local changed = false
for _, waiting in ipairs(row.w or {}) do
  if waiting[3] == 1 and not is_earlier(position, waiting) then
    waiting[3] = 0
    changed = true
  end
end
if changed then save_row(id, row) end
return 1
