--- Appends events to the account's log, in the same atomic step as the change that they report.
-- The last arguments of a script that includes this file are the events (`appendEventsLuaArguments`). The script calls
-- `append_events(events_from)`.
--
-- The log is a stream. The index maps the id of each event to its position. An event whose id is already in the index
-- is skipped. The counters contain the sequences, the epoch, and the positions of the newest event, of the last event
-- that retention removed, and of the last dispatched event.
-- @uses log           Stream of the account's events.
-- @uses log_index     Hash from an event's id to its position in the log.
-- @uses log_counters  Hash of the log's counters.
--- @include "@platform/redis/lua/includes/now.lua"

local function append_events(first)
  local account, candidate = ARGV[first], ARGV[first + 1]
  local now = now_ms()
  if redis.call('HSETNX', log_counters, 'epoch', candidate) == 1 then
    redis.call('HSET', log_counters, 'installedAt', whole(now))
  end
  local epoch = redis.call('HGET', log_counters, 'epoch')
  local grown = false
  for i = first + 2, #ARGV, 6 do
    local type, contact, subject, revision, data, trace = unpack(ARGV, i, i + 5)
    local id = 'evt_' .. redis.sha1hex(table.concat({account, epoch, subject, type, revision}, '\n'))
    if redis.call('HEXISTS', log_index, id) == 0 then
      local counter = 'account'
      if string.find(type, '^message%.') or string.find(type, '^contact%.') then counter = 'contact:' .. contact end
      local sequence = redis.call('HINCRBY', log_counters, counter, 1)
      local entry = {'i', id, 't', type, 'c', contact, 's', sequence, 'at', whole(now), 'd', data}
      if trace ~= '' then entry[#entry + 1], entry[#entry + 2] = 'tr', trace end
      local position = redis.call('XADD', log, '*', unpack(entry))
      redis.call('HSET', log_index, id, position)
      redis.call('HSET', log_counters, 'last', position)
      grown = true
    end
  end
  -- `pcall`: if the Redis user lacks the right to publish, events are recorded all the same.
  if grown then redis.pcall('PUBLISH', log .. ':grown', '') end
end
