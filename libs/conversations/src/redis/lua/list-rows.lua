--- Lists rows by their last activity and id, the latest first.
-- @key rows       Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order  Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_sends  Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @key numbers    Hash from a phone number to its most likely contact.
-- @arg limit      Maximum number of rows.
-- @arg after_at   Last activity of the row after which the page begins, in ms, or ''.
-- @arg after_id   Id of that row.
-- @reply          For each row: id, last activity, row as JSON or '', pairs of a number and its value in `row_sends`.
--- @include "includes/byte-order.lua"
--- @include "includes/show-rows.lua"

-- Returns the number of rows up to a position, whether or not a row still has this position.
local function count_up_to(at, id)
  local low = redis.call('ZCOUNT', row_order, '(' .. at, '+inf')
  local high = low + redis.call('ZCOUNT', row_order, at, at)
  -- Rows with the same last activity are sorted by id, the greatest first.
  while low < high do
    local middle = math.floor((low + high) / 2)
    local here = redis.call('ZREVRANGE', row_order, middle, middle)[1]
    if is_before(here, id) then high = middle else low = middle + 1 end
  end
  return low
end

local first = after_at == '' and 0 or count_up_to(after_at, after_id)
local found = redis.call('ZREVRANGE', row_order, first, first + limit - 1, 'WITHSCORES')
local reply = {}
for i = 1, #found, 2 do
  reply[#reply + 1] = show_row(found[i], found[i + 1], is_phone_number(found[i]))
end
return reply
