--- Commits the row of a contact together with its messages.
-- @uses rows_kept   'on' if rows are kept, or 'off'.
-- @uses row_is_new  'new' if the contact has no row yet, or ''.
--- @include "@conversations/redis/lua/includes/row-messages.lua"

-- Returns the arguments from `first` to `last`, or nil if there are none.
local function arguments_between(first, last)
  local list = {}
  for i = first, last do list[#list + 1] = ARGV[i] end
  return #list > 0 and list or nil
end

-- Brings the row up to date with the messages of a poll. `adopted` are the phone numbers that are newly assigned to
-- the contact, and `released` the contacts to which they were assigned before. Returns the index of the argument
-- after those of the row.
local function commit_row(id, first, scheduled, adopted, released)
  local entries = first + 1
  local words = entries + ARGV[first] * ENTRY_LENGTH + 1
  local field_numbers = words + ARGV[words - 1] + 1
  local next = field_numbers + ARGV[field_numbers - 1]
  if rows_kept ~= 'on' or (ARGV[first] == '0' and row_is_new == '' and #adopted == 0) then return next end
  local row = load_row(id)
  -- If there is no row, an earlier build has stored the contact. The next poll of the contact creates the row.
  if not row and row_is_new == '' then return next end
  row = row or {}
  local changed, moved = put_messages(id, row, entries, tonumber(ARGV[first]))
  if row_is_new == 'new' then
    for i = words, field_numbers - 2 do redis.call('ZADD', row_words, 0, ARGV[i] .. '\0' .. id) end
    row.k = words_of_row(words, field_numbers - 2)
    row.c = arguments_between(field_numbers, next - 1)
    for _, number in ipairs(row.c or {}) do change_number_words('ZADD', number, id) end
    each_own_number(id, row, function(number) adopt_number(row, number) end)
    changed, moved = true, true
  end
  for _, number in ipairs(adopted) do
    if scheduled then adopt_number(row, number) else show_number(number) end
    changed, moved = true, true
  end
  if changed then save_row(id, row) end
  if moved and scheduled then redis.call('ZADD', row_order, last_activity(id, row), id)
  elseif moved then redis.call('ZADD', row_order, 'XX', last_activity(id, row), id)
  elseif changed and row.m and scheduled then redis.call('ZADD', row_order, 'GT', row.m[1], id)
  elseif changed and row.m then redis.call('ZADD', row_order, 'XX', 'GT', row.m[1], id) end
  for _, other in ipairs(released) do release_number(other) end
  return next
end
