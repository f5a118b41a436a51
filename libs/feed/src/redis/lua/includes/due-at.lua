--- Formats due times as Redis stores them.
--- @include "@platform/redis/lua/includes/now.lua"

-- Returns the time that is this many ms from now, as text.
local function due_at(ms) return whole(now_ms() + tonumber(ms)) end
