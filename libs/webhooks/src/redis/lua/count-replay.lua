--- Counts the events that a replay to one endpoint would deliver, without a change.
-- @key webhooks     Hash of the account's endpoints.
-- @arg base         Prefix of the account's keys.
-- @arg scope        Scope of the replay: 'all', 'missed', 'failed' or 'pending'.
-- @arg endpoint     The endpoint's id.
-- @arg counted      Sum of the replies for the earlier events of the replay.
-- @args entries     For each event: id of its delivery, position.
-- @reply            Number of deliveries that would become pending, or due now.
--- @include "includes/replay-selection.lua"

-- The deliveries that were counted before would take up room in the backlog.
local it, made = endpoint_of(endpoint), 0
it.pending = pending_of(endpoint) + tonumber(counted)
for i = entries_from, #ARGV, 2 do
  local action = replay_action(endpoint, ARGV[i], ARGV[i + 1])
  if action and action ~= 'full' then
    made = made + 1
    it.pending = it.pending + 1
  end
end
return made
