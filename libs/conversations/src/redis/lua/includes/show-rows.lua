--- Collects the stored parts of rows, from which `conversationOf` creates conversations.
-- @uses rows       Hash from a contact's id to the part of its row that its messages decide, as JSON.
-- @uses row_sends  Hash from a phone number to the part of a row that the sends to it decide, as JSON.
-- @uses numbers    Hash from a phone number to its most likely contact.

-- Returns the id, the last activity, the row as JSON or '', and pairs of a number and its value in `row_sends`.
-- `is_number` is true for the row of a number without a contact.
local function show_row(id, last, is_number)
  local text = redis.call('HGET', rows, id)
  local shown = {id, last, text or ''}
  if is_number and not text then
    shown[4], shown[5] = id, redis.call('HGET', row_sends, id) or ''
    return shown
  end
  local row = text and cjson.decode(text) or {}
  local seen = {}
  for _, list in ipairs({row.n or {}, row.c or {}}) do
    for _, number in ipairs(list) do
      if not seen[number] and redis.call('HGET', numbers, number) == id then
        local part = redis.call('HGET', row_sends, number)
        if part then
          shown[#shown + 1] = number
          shown[#shown + 1] = part
        end
      end
      seen[number] = true
    end
  end
  return shown
end

local function is_phone_number(id) return string.find(id, '^%+%d+$') ~= nil end
