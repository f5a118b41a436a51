--- Reads the polling state of a contact.
-- If a listed contact has no record, the script creates a record that is marked as lost.
-- @key contact                   Hash of the contact's record.
-- @key messages                  Hash from a message's id to what is known about it.
-- @key list                      Hash of the contact list as it was last read.
-- @key contacts                  Hash from a contact's id to the contact as it was listed.
-- @key log                       Stream of the account's events.
-- @key log_counters              Hash of the log's counters.
-- @key rows                      Hash from a contact's id to its row.
-- @arg contact_id                The contact's id.
-- @reply                         An array; empty if the contact is unknown.
-- @field now                     The time in ms.
-- @field version                 Version of the record.
-- @field poll_state              `PollState`, packed.
-- @field emit_after              Time after which messages are emitted, in ms, or ''.
-- @field expedite_requests       Number of open requests to poll the contact sooner.
-- @field deletions_confirmed_at  When deletions were last confirmed, in ms, or ''.
-- @field stored_messages         Number of known messages.
-- @field epoch                   Epoch of the log, or '' if the log was lost.
-- @field lost                    '1' if the record was lost, or ''.
-- @field list_suspect_since      Since when the list is suspect, in ms, or ''.
-- @field suspect_at              When the list was last found suspect, in ms, or ''.
-- @field messages_shown_at       When a poll of any contact last returned a message, in ms, or ''.
-- @field contacts                Number of contacts.
-- @field revision_floor          Lower bound of new event revisions.
-- @field run                     The Redis run.
-- @field failures                Number of consecutive failed polls.
-- @field longest_page            Number of elements on the account's longest page.
-- @field extension               `LearnedContactState`, packed.
-- @field has_row                 1 if the contact has a row, or 0.
--- @include "includes/due-at.lua"
--- @include "includes/texts.lua"
--- @include "includes/revision-floor.lua"

if redis.call('EXISTS', contact) == 0 and redis.call('HEXISTS', contacts, contact_id) == 1 then
  -- The version and the revision are higher than all earlier ones.
  local second = redis.call('TIME')[1]
  redis.call('HSET', contact, 'v', second, 'lost', 1, 'r0', '{}', 'rev', second)
end
local state = redis.call('HMGET', contact, 'v', 'tellAfter', 'hastened', 'lost', 'failed')
if not state[1] then return {} end
local listed = redis.call('HMGET', list, 'believedAt', 'suspectSince', 'suspectAt', 'shownAt', 'longestPage')
-- The log was lost if its counters count events but the log does not exist.
local epoch = redis.call('HGET', log_counters, 'epoch') or ''
if redis.call('HEXISTS', log_counters, 'last') == 1 and redis.call('EXISTS', log) == 0 then epoch = '' end
return {due_at(0), state[1], get_text(contact, 'm'), state[2] or '', state[3] or '0',
  listed[1] or '', redis.call('HLEN', messages), epoch, state[4] or '',
  listed[2] or '', listed[3] or '', listed[4] or '', redis.call('HLEN', contacts),
  revision_floor(list), redis_run(), state[5] or '0', listed[5] or '0', get_text(contact, 'x'),
  redis.call('HEXISTS', rows, contact_id)}
