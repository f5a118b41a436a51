--- Reads when an entry of the log was recorded.
-- The position of an entry begins with a time, too. If Redis' clock was set back, that time is too late, because
-- positions always increase.

-- Returns the time in ms since 1970.
local function recorded_at(entry)
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'at' then return tonumber(fields[i + 1]) end
  end
  return tonumber(string.match(entry[1], '^%d+'))
end
