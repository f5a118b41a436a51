--- Reads which events are behind at an endpoint, if there is room for some now.
-- @key webhooks        Hash of the account's endpoints.
-- @arg base            Prefix of the account's keys.
-- @arg endpoint        The endpoint's id.
-- @reply               An array, or nil if nothing may become pending now.
-- @field from          Position in the log at which the events that are behind begin.
-- @field to            Position at which they end.
-- @field room          Number of deliveries that may become pending now.
--- @include "includes/creation.lua"

local from, to = behind(endpoint)
local at, room = refill_from(endpoint)
if not at or at > NOW then return nil end
return {from, to, room}
