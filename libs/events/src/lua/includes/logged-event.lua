--- Looks up an event in the log.

-- Returns the event's entry, or nil if the log no longer contains the event.
local function logged_event(log, position, id)
  local entry = position and redis.call('XRANGE', log, position, position)[1]
  if entry and entry[2][2] == id then return entry end
end
