--- Reads a contact as JSON, and its revision.
-- @key contact         Hash of the contact's record.
-- @reply               An array; empty if the contact is unknown.
-- @field text          The contact as JSON, packed.
-- @field revision      Its revision.
--- @include "includes/texts.lua"

local text = get_text(contact, 'r')
if text == '' then return {} end
return {text, redis.call('HGET', contact, 'rev') or '0'}
