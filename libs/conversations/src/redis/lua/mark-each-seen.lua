--- Marks some messages of a row as seen.
-- @key rows          Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order     Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends     Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key row_words     Sorted set of search words, each followed by a zero byte and the id of a row.
-- @key row_revision  Latest revision that was assigned, over all rows of the account.
-- @key numbers       Hash from a phone number to its most likely contact.
-- @arg id            Id of the row.
-- @args messages     Ids of the messages.
-- @reply             Nothing.
--- @include "includes/rows.lua"

local row = redis.call('ZSCORE', row_order, id) and load_row(id)
if not row then return end
local seen = {}
for i = messages_from, #ARGV do seen[ARGV[i]] = true end
local changed = false
for _, waiting in ipairs(row.w or {}) do
  if waiting[3] == 1 and seen[waiting[2]] then
    waiting[3] = 0
    changed = true
  end
end
if changed then save_row(id, row) end
