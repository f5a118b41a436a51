--- Reads when an entry of the log was recorded.
-- Positions never go back. After Redis' clock was set back, they begin with a later time than that of the event.

-- Returns the time in ms since 1970.
local function recorded_at(entry)
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'at' then return tonumber(fields[i + 1]) end
  end
  return tonumber(string.match(entry[1], '^%d+'))
end
