--- Reads and writes the rows of conversations (see `redis-row-keys.ts` for their form).
-- A position is an array that begins with a time in ms and an id. Positions are ordered by time, then by id.
-- @uses rows          Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @uses row_order     Sorted set of the ids of all rows by their last activity, in ms.
-- @uses row_sends     Hash from a phone number to the part of a row built from the sends to this number, as JSON.
-- @uses row_words     Sorted set of search words, each followed by a zero byte and the id of a row.
-- @uses row_revision  Latest revision that was assigned, over all rows of the account.
-- @uses numbers       Hash from a phone number to its most likely contact.
--- @include "@platform/redis/lua/includes/now.lua"
--- @include "byte-order.lua"

-- Maximum number of sends without a message whose previews are kept for a phone number: the latest.
local MAX_SENDS_WITH_PREVIEW = 3

local function is_earlier(a, b)
  if a[1] ~= b[1] then return a[1] < b[1] end
  return is_before(a[2], b[2])
end

-- `pcall`: if the Redis user lacks the right to publish, rows are stored all the same.
local function publish_change(text) redis.pcall('PUBLISH', rows .. ':changes', text) end

local function load_row(id)
  local text = redis.call('HGET', rows, id)
  return text and cjson.decode(text)
end

-- Returns a revision that is higher than all earlier revisions. The revision is at least the time in ms, so that it is
-- also higher than revisions that Redis has lost.
local function next_row_revision()
  local revision = math.max(tonumber(redis.call('GET', row_revision) or 0) + 1, now_ms())
  redis.call('SET', row_revision, whole(revision))
  return revision
end

-- Stores a row with a new revision, and publishes the change.
local function save_row(id, row)
  row.v = next_row_revision()
  redis.call('HSET', rows, id, cjson.encode(row))
  publish_change('row ' .. id)
end

local function load_sends(number)
  local text = redis.call('HGET', row_sends, number)
  return text and cjson.decode(text) or {p = 0, f = 0}
end

-- Returns the id of the row that shows a phone number: the id of its most likely contact if that contact is listed,
-- otherwise the number itself.
local function row_of_number(number)
  local owner = redis.call('HGET', numbers, number)
  if owner and redis.call('ZSCORE', row_order, owner) then return owner end
  return number
end

-- Returns true if a row belongs to a contact. The id of a contact may be its phone number.
local function is_contact(id) return redis.call('HEXISTS', rows, id) == 1 end

-- Adds the search words of a phone number for a row (command `ZADD`) or removes them (`ZREM`): `+` with the digits of
-- the number, and `-` with its digits in reverse order.
local function change_number_words(command, number, id)
  local digits = string.gsub(number, '%D', '')
  if digits == '' then return end
  for _, word in ipairs({'+' .. digits, '-' .. string.reverse(digits)}) do
    if command == 'ZADD' then redis.call('ZADD', row_words, 0, word .. '\0' .. id)
    else redis.call('ZREM', row_words, word .. '\0' .. id) end
  end
end

-- Calls `visit` with each number of a row whose most likely contact is the row's contact.
local function each_own_number(id, row, visit)
  local seen = {}
  for _, list in ipairs({row.n or {}, row.c or {}}) do
    for _, number in ipairs(list) do
      if not seen[number] then
        seen[number] = true
        if redis.call('HGET', numbers, number) == id then visit(number) end
      end
    end
  end
end

-- Returns the time of a row's last activity in ms, or 0.
local function last_activity(id, row)
  local last = row.m and row.m[1] or 0
  each_own_number(id, row, function(number)
    local sends = load_sends(number)
    if sends.s and sends.s[1][1] > last then last = sends.s[1][1] end
  end)
  return last
end

-- Stores the part of a row that the sends to a number decide. If no send is left, removes the part, and also the row if
-- it is the row of a number without a contact. Returns the id of the row.
local function save_sends(number, sends)
  local id = row_of_number(number)
  if sends.s and #sends.s == 0 then sends.s = nil end
  if sends.p > 0 or sends.f > 0 or sends.s then
    sends.v = next_row_revision()
    redis.call('HSET', row_sends, number, cjson.encode(sends))
    publish_change('row ' .. id)
    return id
  end
  redis.call('HDEL', row_sends, number)
  if id == number and not is_contact(id) then
    redis.call('ZREM', row_order, number)
    change_number_words('ZREM', number, number)
    next_row_revision()
    publish_change('row ' .. id)
  else save_row(id, load_row(id) or {}) end
  return id
end

-- Removes a send from the sends with a preview. Returns true if the send was among them.
local function remove_preview(sends, send_id)
  for i, send in ipairs(sends.s or {}) do
    if send[2] == send_id then
      table.remove(sends.s, i)
      return true
    end
  end
  return false
end
