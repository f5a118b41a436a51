--- Reads rows by their ids.
-- @key rows       Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order  Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends  Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key numbers    Hash from a phone number to its most likely contact.
-- @args ids       Ids of rows.
-- @reply          For each row that exists: id, last activity, row as JSON or '', pairs of a number and its value in
--                 `row_sends`.
--- @include "includes/show-rows.lua"

local reply, seen = {}, {}
for i = ids_from, #ARGV do
  local id = ARGV[i]
  local last = redis.call('ZSCORE', row_order, id)
  if not last then
    -- The row of a number was replaced by the row of its contact.
    id = redis.call('HGET', numbers, id)
    last = id and redis.call('ZSCORE', row_order, id)
  end
  if last and not seen[id] then
    seen[id] = true
    reply[#reply + 1] = show_row(id, last, is_phone_number(id))
  end
end
return reply
