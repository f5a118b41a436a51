--- Brings the row of a contact up to date with its messages.
--- @include "rows.lua"

-- Maximum number of unanswered messages that a row contains: the first one and the latest ones.
local MAX_WAITING = 101
-- Maximum number of phone numbers from messages that a row contains.
local MAX_NUMBERS = 10
-- Number of arguments of an entry (`rowUpdateLuaArguments`).
local ENTRY_LENGTH = 6

local function has_number(list, number)
  for _, known in ipairs(list or {}) do
    if known == number then return true end
  end
  return false
end

-- Adds the phone number of a message to a row. The number of the last message becomes the first number of the row.
-- Returns true if the numbers of the row changed.
local function use_number(id, row, number, is_last)
  if number == '' then return false end
  row.n = row.n or {}
  local at
  for i, known in ipairs(row.n) do
    if known == number then at = i end
  end
  if not at then
    if #row.n >= MAX_NUMBERS then
      if not is_last then return false end
      local dropped = table.remove(row.n)
      if not has_number(row.c, dropped) then change_number_words('ZREM', dropped, id) end
    end
    change_number_words('ZADD', number, id)
  elseif at == 1 or not is_last then return false end
  if at then table.remove(row.n, at) end
  table.insert(row.n, is_last and 1 or #row.n + 1, number)
  return true
end

-- Returns the search words in the arguments from `first` to `last` as one text with a space before each word; nil if
-- there are none.
local function words_of_row(first, last)
  if last < first then return nil end
  return ' ' .. table.concat(ARGV, ' ', first, last)
end

-- Removes the unanswered messages up to a position from a row.
local function answer_up_to(row, position)
  local kept = {}
  for _, waiting in ipairs(row.w or {}) do
    if is_earlier(position, waiting) then kept[#kept + 1] = waiting end
  end
  row.w = #kept > 0 and kept or nil
end

local function add_waiting(row, time, message, unread)
  row.w = row.w or {}
  local at = #row.w + 1
  while at > 1 and is_earlier({time, message}, row.w[at - 1]) do at = at - 1 end
  if at > 1 and row.w[at - 1][2] == message then return false end
  for _, waiting in ipairs(row.w) do
    if waiting[2] == message then return false end
  end
  table.insert(row.w, at, {time, message, unread})
  if #row.w > MAX_WAITING then table.remove(row.w, 2) end
  return true
end

local function remove_message(row, message)
  if row.m and row.m[2] == message then row.m = nil end
  if row.o and row.o[2] == message then row.o = nil end
  for i, waiting in ipairs(row.w or {}) do
    if waiting[2] == message then
      table.remove(row.w, i)
      break
    end
  end
  if row.w and #row.w == 0 then row.w = nil end
end

-- Removes all messages up to a time from a row. Returns a table from the id of each removed unanswered message to 1 if
-- the message was unread, else 0.
local function forget_up_to(row, time)
  local unread, kept = {}, {}
  for _, waiting in ipairs(row.w or {}) do
    if waiting[1] > time then kept[#kept + 1] = waiting else unread[waiting[2]] = waiting[3] end
  end
  row.w = #kept > 0 and kept or nil
  if row.m and row.m[1] <= time then row.m = nil end
  if row.o and row.o[1] <= time then row.o = nil end
  return unread
end

-- Removes the preview of a send, because the row contains the message of the send.
local function hide_send(number, send_id)
  local sends = load_sends(number)
  if remove_preview(sends, send_id) then save_sends(number, sends) end
end

-- Applies entries (`rowUpdateLuaArguments`) to a row. Returns two values: true if the row changed, and true if the last
-- activity of the row may be earlier than before.
local function put_messages(id, row, first, count)
  local changed, moved_back = false, false
  local unread_before = {}
  for at = first, first + (count - 1) * ENTRY_LENGTH, ENTRY_LENGTH do
    local kind, time, message, number, preview, send_id = unpack(ARGV, at, at + ENTRY_LENGTH - 1)
    time = tonumber(time)
    if kind == 'text' then
      if row.m and row.m[2] == message and row.m[4] ~= preview then
        row.m[4] = preview
        changed = true
      end
    elseif kind == 'bound' then hide_send(number, send_id)
    elseif kind == 'deleted' then
      remove_message(row, message)
      changed, moved_back = true, true
    elseif kind == 'reset' then
      row.m, row.o = nil, nil
      changed, moved_back = true, true
    elseif kind == 'replace' then
      unread_before = forget_up_to(row, time)
      changed, moved_back = true, true
    else
      local position = {time, message}
      if kind == 'out' then
        if not row.o or is_earlier(row.o, position) then
          row.o = position
          answer_up_to(row, position)
          changed = true
        end
      elseif kind == 'in' or kind == 'unread' then
        local unread = kind == 'unread' and 1 or unread_before[message] or 0
        if not row.o or is_earlier(row.o, position) then
          changed = add_waiting(row, time, message, unread) or changed
        end
      end
      local is_last = not row.m or is_earlier(row.m, position)
      if is_last then
        row.m = {time, message, (kind == 'out' and 'o') or (kind == 'other' and 'n') or 'i', preview}
        changed = true
      end
      changed = use_number(id, row, number, is_last) or changed
      if send_id ~= '' and number ~= '' then hide_send(number, send_id) end
    end
  end
  return changed, moved_back
end

-- Replaces the row of a number by the row of the contact that the number now belongs to. Returns true if the number
-- had a row.
local function adopt_number(row, number)
  if is_contact(number) then return false end
  if redis.call('ZREM', row_order, number) == 0 then return false end
  change_number_words('ZREM', number, number)
  row.r = number
  return true
end

-- Creates a row for the sends to a number, because the number belongs to a contact that is not listed.
local function show_number(number)
  local text = redis.call('HGET', row_sends, number)
  if not text then return end
  local sends = cjson.decode(text)
  redis.call('ZADD', row_order, sends.s and sends.s[1][1] or 0, number)
  change_number_words('ZADD', number, number)
  publish_change('row ' .. number)
end

-- Brings the row of a contact up to date after one of its numbers was assigned to another contact.
local function release_number(id)
  local row = id and redis.call('ZSCORE', row_order, id) and load_row(id)
  if not row then return end
  save_row(id, row)
  redis.call('ZADD', row_order, 'XX', last_activity(id, row), id)
end
