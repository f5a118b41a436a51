--- Looks an event up in the log.

-- Returns the event's entry, or nil if the log does not contain it any more.
local function logged_event(log, position, id)
  local entry = position and redis.call('XRANGE', log, position, position)[1]
  if entry and entry[2][2] == id then return entry end
end
