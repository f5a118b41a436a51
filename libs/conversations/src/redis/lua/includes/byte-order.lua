--- Compares texts byte by byte, as Redis orders the members of a sorted set.
-- Lua's comparison operators depend on the locale of the Redis process, so they are not used.

-- Returns true if `a` comes before `b`.
local function is_before(a, b)
  for i = 1, math.min(#a, #b) do
    local one, other = string.byte(a, i), string.byte(b, i)
    if one ~= other then return one < other end
  end
  return #a < #b
end
