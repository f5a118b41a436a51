--- Stores long texts in several fields of a contact's record.
-- Redis keeps a small hash in a compact form, at a fraction of the cost, as long as none of its values is longer than
-- 64 bytes (by default). A value of 63 bytes has a shorter head. A text of many pieces would have too many fields for
-- that form, and is stored in one field.

local function put_text(key, field, text)
  local size = #text > 512 and #text or 63
  local n = 0
  for from = 1, #text, size do
    redis.call('HSET', key, field .. n, string.sub(text, from, from + size - 1))
    n = n + 1
  end
  while redis.call('HDEL', key, field .. n) == 1 do n = n + 1 end
end

local function get_text(key, field)
  local pieces = {}
  local piece = redis.call('HGET', key, field .. 0)
  while piece do
    pieces[#pieces + 1] = piece
    piece = redis.call('HGET', key, field .. #pieces)
  end
  return table.concat(pieces)
end
