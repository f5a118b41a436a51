--- Reads the range of events that still have to become deliveries of an endpoint, if the backlog has room.
-- @key webhooks    Hash of the account's endpoints.
-- @arg base        Prefix of the account's keys.
-- @arg endpoint    The endpoint's id.
-- @reply           An array, or nil if nothing may become pending now.
-- @field from      First position of the range in the log.
-- @field to        Last position of the range.
-- @field room      Number of deliveries that may become pending now.
--- @include "includes/creation.lua"

local from, to = behind(endpoint)
local at, room = refill_from(endpoint)
if not at or at > NOW then return nil end
return {from, to, room}
