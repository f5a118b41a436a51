--- Searches rows by the beginnings of words and by the first or last digits of phone numbers, the latest first.
-- Digits also match the beginning of a word.
-- If few rows have the rarest word, these rows are the candidates. Otherwise, the candidates are the rows with the
-- latest activity.
-- @key rows            Hash from a contact's id to the part of its row built from its messages and fields, as JSON.
-- @key row_order       Sorted set of the ids of all rows by their last activity, in ms.
-- @key row_words       Sorted set of search words, each followed by a zero byte and the id of a row.
-- @arg max_indexed     Maximum number of rows with the rarest word up to which these rows are the candidates.
-- @arg max_candidates  Maximum number of candidates: the latest.
-- @arg limit           Maximum number of rows to return.
-- @arg after_at        Last activity of the row after which the page begins, in ms, or ''.
-- @arg after_id        Id of that row.
-- @arg digits          Digits to search for, or ''. If digits are given, no words are given.
-- @arg word_count      Number of words.
-- @args words          Beginnings of words; then the ids of the candidates, if only certain rows are searched.
-- @reply               For each row: id, last activity.
--- @include "includes/byte-order.lua"

local candidates_from = words_from + word_count

-- For each beginning of a word, calls `visit` with the bounds of the range of `row_words` that has this beginning.
local function each_range(beginnings, visit)
  for _, beginning in ipairs(beginnings) do visit('[' .. beginning, '[' .. beginning .. '\255') end
end

local function beginnings_of(word)
  if digits == '' then return {word} end
  return {'+' .. digits, '-' .. string.reverse(digits), digits}
end

local function count_rows(beginnings)
  local count = 0
  each_range(beginnings, function(from, to) count = count + redis.call('ZLEXCOUNT', row_words, from, to) end)
  return count
end

-- Returns the estimated number of rows with a word. The two counts are not added, because most rows with a number also
-- have the number as a word of a field.
local function rows_with(word)
  if digits == '' then return count_rows({word}) end
  return math.max(count_rows({'+' .. digits, '-' .. string.reverse(digits)}), count_rows({digits}))
end

-- Returns the word that the fewest rows have, and the number of these rows.
local function rarest_word()
  local rarest, least
  for i = words_from, math.max(words_from, candidates_from - 1) do
    local count = rows_with(ARGV[i])
    if not least or count < least then rarest, least = ARGV[i], count end
  end
  return rarest, least
end

local function ids_with(word)
  local ids, seen = {}, {}
  each_range(beginnings_of(word), function(from, to)
    for _, member in ipairs(redis.call('ZRANGEBYLEX', row_words, from, to)) do
      local id = string.match(member, '^[^%z]*%z(.*)$')
      if not seen[id] then
        seen[id] = true
        ids[#ids + 1] = id
      end
    end
  end)
  return ids
end

-- Returns those of the given rows that exist, the latest first: id, last activity as a number and as Redis wrote it.
local function in_order(ids)
  if #ids == 0 then return {} end
  local found = {}
  for i, last in ipairs(redis.call('ZMSCORE', row_order, unpack(ids))) do
    if last then found[#found + 1] = {ids[i], tonumber(last), last} end
  end
  table.sort(found, function(a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    return is_before(b[1], a[1])
  end)
  return found
end

local function latest()
  local found = {}
  local pairs = redis.call('ZREVRANGE', row_order, 0, max_candidates - 1, 'WITHSCORES')
  for i = 1, #pairs, 2 do found[#found + 1] = {pairs[i], tonumber(pairs[i + 1]), pairs[i + 1]} end
  return found
end

local function candidates()
  if candidates_from <= #ARGV then
    local ids = {}
    for i = candidates_from, #ARGV do ids[#ids + 1] = ARGV[i] end
    return in_order(ids)
  end
  local rarest, least = rarest_word()
  if least > tonumber(max_indexed) then return latest() end
  return in_order(ids_with(rarest))
end

local function has_digits(number)
  local own = string.gsub(number, '%D', '')
  return string.sub(own, 1, #digits) == digits or string.sub(own, -#digits) == digits
end

-- Returns true if the row, as JSON, has a word that begins with this text.
local function has_word(text, beginning)
  -- JSON puts a backslash before a quotation mark in the value of another field, so the pattern matches only field `k`.
  local own = string.match(text, '"k":"([^"]*)"')
  return own ~= nil and string.find(own, ' ' .. beginning, 1, true) ~= nil
end

-- Returns true if a row matches the search. `text` is the value in `rows`, or false for the row of a number without a
-- contact.
local function matches(id, text)
  if digits ~= '' then
    if not text then return has_digits(id) end
    -- Most rows do not contain the digits at all. This check is quicker than a comparison with the decoded numbers.
    if not string.find(text, digits, 1, true) then return false end
    if has_word(text, digits) then return true end
    local row = cjson.decode(text)
    for _, list in ipairs({row.n or {}, row.c or {}}) do
      for _, number in ipairs(list) do
        if has_digits(number) then return true end
      end
    end
    return false
  end
  if not text then return false end
  for i = words_from, candidates_from - 1 do
    if not has_word(text, ARGV[i]) then return false end
  end
  return true
end

local function is_after(row)
  if after_at == '' then return true end
  local at = tonumber(after_at)
  return row[2] < at or (row[2] == at and is_before(row[1], after_id))
end

local BATCH = 200
local reply = {}
local found = candidates()
local count = math.min(#found, tonumber(max_candidates))
for from = 1, count, BATCH do
  local batch, ids = {}, {}
  for i = from, math.min(from + BATCH - 1, count) do
    if is_after(found[i]) then
      batch[#batch + 1] = found[i]
      ids[#ids + 1] = found[i][1]
    end
  end
  local texts = #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {}
  for i, row in ipairs(batch) do
    local id, _, last = unpack(row)
    if matches(id, texts[i]) then
      reply[#reply + 1] = {id, last}
      if #reply == tonumber(limit) then return reply end
    end
  end
end
return reply
