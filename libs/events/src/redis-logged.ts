/**
 * A fragment for the scripts that need what the log says of an event: its entry as {@link readStreamEntry} reads it, or nil
 * where the log does not have it (any more). `log` is the first of the log's keys.
 */
export const LOGGED_EVENT = `
local function logged_event(log, position, id)
  local entry = position and redis.call('XRANGE', log, position, position)[1]
  if entry and entry[2][2] == id then return entry end
end
`;
