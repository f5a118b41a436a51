--- Reads the polling state of contacts.
-- @uses list          Hash of the contact list as it was last read.
-- @uses contacts      Hash from a contact's id to the contact as it was listed.
-- @uses log           Stream of the account's events.
-- @uses log_counters  Hash of the log's counters.
-- @uses rows          Hash from a contact's id to its row.
--- @include "due-at.lua"
--- @include "revision-floor.lua"

-- Most texts of a record have at most `PIECES` pieces (see `texts.lua`). These are read together with the other fields.
local STATE_FIELDS = {'v', 'tellAfter', 'hastened', 'lost', 'failed', 'failedDeep', 'm0', 'm1', 'm2', 'x0', 'x1', 'x2'}
local MEMORY, EXTENSION, PIECES = 7, 10, 3

-- Returns the part of the polling state that is the same for all contacts of the account.
local function read_account_state()
  local listed = redis.call('HMGET', list, 'believedAt', 'suspectSince', 'suspectAt', 'shownAt', 'longestPage')
  -- The log was lost if its counters count events but the log does not exist.
  local counters = redis.call('HMGET', log_counters, 'epoch', 'last')
  local epoch = counters[1] or ''
  if counters[2] and redis.call('EXISTS', log) == 0 then epoch = '' end
  return {now = due_at(0), listed = listed, epoch = epoch, contacts = redis.call('HLEN', contacts),
    floor = revision_floor(list), run = redis_run()}
end

local function text_of(contact, record, first, field)
  local text = ''
  for n = 0, PIECES - 1 do
    local piece = record[first + n]
    if not piece then return text end
    text = text .. piece
  end
  local n = PIECES
  local piece = redis.call('HGET', contact, field .. n)
  while piece do
    text, n = text .. piece, n + 1
    piece = redis.call('HGET', contact, field .. n)
  end
  return text
end

-- Returns the state in the order of `CONTACT_STATE_FIELDS`, or an empty table if the contact is unknown. If a
-- listed contact has no record, or a record without a version, creates a record that is marked as lost. A lost record
-- may have been created again without a version by a request to poll the contact sooner.
local function read_contact_state(account, contact, messages, contact_id)
  local record = redis.call('HMGET', contact, unpack(STATE_FIELDS))
  if not record[1] and redis.call('HEXISTS', contacts, contact_id) == 1 then
    -- The time in seconds is higher than all versions and revisions that the lost record may have had.
    local second = redis.call('TIME')[1]
    redis.call('HSET', contact, 'v', second, 'lost', 1, 'r0', '{}', 'rev', second)
    record = redis.call('HMGET', contact, unpack(STATE_FIELDS))
  end
  if not record[1] then return {} end
  local listed = account.listed
  return {account.now, record[1], text_of(contact, record, MEMORY, 'm'), record[2] or '', record[3] or '0',
    listed[1] or '', redis.call('HLEN', messages), account.epoch, record[4] or '',
    listed[2] or '', listed[3] or '', listed[4] or '', account.contacts,
    account.floor, account.run, record[5] or '0', listed[5] or '0', text_of(contact, record, EXTENSION, 'x'),
    redis.call('HEXISTS', rows, contact_id)}
end
