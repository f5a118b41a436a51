--- Reads contacts as JSON.
-- @keys contacts  Hashes of the contacts' records.
-- @reply          For each contact its JSON, packed, or '' if the contact is unknown.
--- @include "includes/texts.lua"

local reply = {}
for i = contacts_from, #KEYS do reply[#reply + 1] = get_text(KEYS[i], 'r') or '' end
return reply
