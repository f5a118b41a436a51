--- Ends the claim of a delivery without recording an attempt.
-- @key webhooks       Hash of the account's endpoints.
-- @arg base           Prefix of the account's keys.
-- @arg endpoint       The endpoint's id.
-- @arg default_slots  Maximum number of requests in flight for an endpoint without its own limit.
-- @arg id             The delivery's id.
-- @arg claim          Id of the claim.
-- @reply              Nothing.
--- @include "includes/deliveries.lua"

if redis.call('HGET', delivery(id), 'claim') == claim then
  end_claim(endpoint, id, NOW)
  local _, record = endpoint_record(endpoint)
  if record then
    -- No attempt is recorded, so the token of the claim is given back.
    local tokens, filled_at = tokens_of(endpoint, record)
    spend(endpoint, tokens, filled_at, -1)
  end
  update_agenda(endpoint, tonumber(default_slots), record)
end
