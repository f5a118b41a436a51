--- Commits the row of a contact together with its entry in the contact list.
-- @uses rows_kept  'on' if rows are kept, or 'off'.
--- @include "@conversations/redis/lua/includes/row-messages.lua"

-- Adds an empty row for a new contact.
local function create_row(id)
  if rows_kept == 'on' then redis.call('HSETNX', rows, id, '{}') end
end

local function put_field_numbers(id, row, first, count)
  row.c = nil
  for i = first, first + count - 1 do
    change_number_words('ZADD', ARGV[i], id)
    row.c = row.c or {}
    row.c[#row.c + 1] = ARGV[i]
  end
end

-- Removes the row of a contact that is no longer listed. The sends to the numbers of the contact are then shown in rows
-- of these numbers.
local function hide_row(id)
  if redis.call('ZREM', row_order, id) == 0 then return end
  each_own_number(id, load_row(id) or {}, show_number)
end

-- Brings the row up to date with a contact of the list. `first` is the index of the contact's phone numbers, of
-- which `adopted` are newly assigned to the contact. Returns the index of the argument after those of the contact.
local function list_row(id, present, has_fields, first, number_count, adopted)
  local words = first + number_count + 1
  local removed = words + ARGV[words - 1] + 1
  local next = removed + ARGV[removed - 1]
  if rows_kept ~= 'on' then return next end
  if not present then
    hide_row(id)
    return next
  end
  for i = words, removed - 2 do redis.call('ZADD', row_words, 0, ARGV[i] .. '\0' .. id) end
  for i = removed, next - 1 do redis.call('ZREM', row_words, ARGV[i] .. '\0' .. id) end
  local is_shown = redis.call('ZSCORE', row_order, id)
  if is_shown and not has_fields and #adopted == 0 then return next end
  local row = load_row(id)
  -- If there is no row, an earlier build has stored the contact. The next poll of the contact creates the row.
  if not row then return next end
  if has_fields then
    put_field_numbers(id, row, first, number_count)
    row.k = words_of_row(words, removed - 2)
  end
  for _, number in ipairs(adopted) do adopt_number(row, number) end
  if not is_shown then each_own_number(id, row, function(number) adopt_number(row, number) end) end
  save_row(id, row)
  if not is_shown or #adopted > 0 then redis.call('ZADD', row_order, last_activity(id, row), id) end
  return next
end
