--- Stores long texts in several fields of a contact's record.
-- Redis stores a small hash in a compact form if no value is longer than 64 bytes (the default limit). This takes a
-- fraction of the memory. Values of at most 63 bytes have a shorter header. A longer text would need too many fields
-- for the compact form, so it is stored in one field.

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
