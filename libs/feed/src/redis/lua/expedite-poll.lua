--- Makes a contact due earlier, if it is scheduled.
-- @key due             Sorted set of contacts by when they are polled next, in ms.
-- @key contact         Hash of the contact's record.
-- @arg contact_id      The contact's id.
-- @arg due_in          In how many ms the contact is due at the latest.
-- @reply               Number of members added: always 0.
--- @include "includes/due-at.lua"

local at = due_at(due_in)
redis.call('HINCRBY', contact, 'hastened', 1)
redis.call('HSET', contact, 'hastenedTo', at)
return redis.call('ZADD', due, 'XX', 'LT', at, contact_id)
