--- Returns the size of an entry of the log.

-- Returns the size of the fields of an entry, in bytes.
local function entry_bytes(entry)
  local bytes = 0
  for _, part in ipairs(entry[2]) do bytes = bytes + #part end
  return bytes
end
