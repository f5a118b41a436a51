--- Marks the account's endpoints as changed, so that processes read them again.

-- Writes a new revision: a time in microseconds. A counter could repeat a number after Redis lost its last writes, and
-- a process that read the endpoints before the loss would not notice the next change. Older builds count up.
local function change_revision(revision)
  local time = redis.call('TIME')
  redis.call('SET', revision, string.format('%d%06d', time[1], time[2]))
end
