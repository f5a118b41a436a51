--- Names the keys of deliveries and their endpoints.
-- A script knows only while it runs which deliveries it touches. It gets the prefix of the account's keys
-- (`...:{account}:`) as an argument. All these keys share the account's slot.
-- @uses webhooks   Hash of the account's endpoints.
-- @uses base       Prefix of the account's keys.
--- @include "@platform/redis/lua/includes/now.lua"

local NOW = now_ms()

local function delivery(id) return base .. 'delivery:' .. id end
local function due(endpoint) return base .. 'endpoint:' .. endpoint .. ':due' end
local function inflight(endpoint) return base .. 'endpoint:' .. endpoint .. ':inflight' end
local function gaps(endpoint) return base .. 'endpoint:' .. endpoint .. ':gaps' end
-- Returns the sorted set of the endpoint's deliveries, or of those of one status, by a number that counts up with
-- their creation.
local function listed(endpoint, status)
  return base .. 'endpoint:' .. endpoint .. ':deliveries' .. (status and ':' .. status or '')
end
local AGENDA, FINISHED = base .. 'webhooks:agenda', base .. 'deliveries:finished'

-- Returns an endpoint as it is stored, as text and decoded, or nil. The ids of contacts in its filter are left out:
-- there may be many, and deliveries do not need them. No other text can look like the two texts around them.
local function endpoint_record(endpoint)
  local stored = redis.call('HGET', webhooks, endpoint)
  if not stored then return nil end
  local from = string.find(stored, ',"contactIds":[', 1, true)
  local to = from and string.find(stored, '],"description":', from, true)
  if to then stored = string.sub(stored, 1, from) .. string.sub(stored, to + 2) end
  return stored, cjson.decode(stored)
end
