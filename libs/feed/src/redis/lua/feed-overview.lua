--- Reads the statistics of an account's polls.
-- @key list             Hash of the contact list as it was last read.
-- @key due              Sorted set of contacts by when they are polled next, in ms.
-- @key suspects         Hash from a contact to the time since which its messages are suspect.
-- @key deep             Sorted set of contacts by when their read of older messages is due, in ms.
-- @key rates            Hash from a bucket of message rates to its number of contacts.
-- @key facts            Hash of the statistics of the account's polls.
-- @keys slots           Hashes of the detection delays, one for each time slot.
-- @reply                An array; a field is nil if it is unknown.
-- @field now                The time in ms.
-- @field contacts           Number of contacts that are polled.
-- @field due                Number of contacts that are due.
-- @field first              When the first contact is due, in ms.
-- @field listed_at          When the list was last read completely and no outage was suspected, in ms.
-- @field suspect_since      Time since which contacts or messages are suspect and not confirmed as deleted, in ms. If
--                           the messages of very many contacts are suspect, it is the earliest time of some of them.
-- @field unreadable         Number of unreadable messages.
-- @field unreadable_listed  History of the unreadable elements of the list.
-- @field waiting            Number of reads of older messages that are due.
-- @field first_deep         When the first read of older messages is due, in ms.
-- @field fault              Why the list cannot be read.
-- @field fault_since        Time since which the list cannot be read, in ms.
-- @field rates              Pairs of a bucket of rates and its number of contacts.
-- @field facts              Pairs of the name of a statistic and its value.
-- @field slots              For each slot, pairs of a field and its value.
--- @include "includes/due-at.lua"

-- Maximum number of contacts with suspect messages of which the times are read.
local MAX_SUSPICIONS = 1000

local now = due_at(0)
local function first_of(index) return redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')[2] or false end
local state = redis.call('HMGET', list, 'listedAt', 'unreadable', 'believedAt', 'suspectSince',
  'listFault', 'listFaultSince', 'unreadableListed')
local believed, since = tonumber(state[3] or '0'), false
local suspicions = redis.call('HRANDFIELD', suspects, MAX_SUSPICIONS, 'WITHVALUES')
if state[4] then suspicions[#suspicions + 1], suspicions[#suspicions + 2] = 'list', state[4] end
for i = 2, #suspicions, 2 do
  local suspicion = suspicions[i]
  local is_open = tonumber(suspicion) > believed
  if is_open and (not since or tonumber(suspicion) < tonumber(since)) then since = suspicion end
end
local delays = {}
for i = slots_from, #KEYS do delays[#delays + 1] = redis.call('HGETALL', KEYS[i]) end
return {now, redis.call('ZCARD', due), redis.call('ZCOUNT', due, '-inf', now), first_of(due),
  state[1], since, state[2], state[7], redis.call('ZCOUNT', deep, '-inf', now), first_of(deep),
  state[5], state[6], redis.call('HGETALL', rates), redis.call('HGETALL', facts), delays}
