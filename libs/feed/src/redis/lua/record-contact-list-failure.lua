--- Records why the contact list could not be read.
-- @key list        Hash of the contact list as it was last read.
-- @arg reason      Reason, in words.
-- @reply           Number of fields added.
--- @include "includes/due-at.lua"

redis.call('HSETNX', list, 'listFaultSince', due_at(0))
return redis.call('HSET', list, 'listFault', reason)
