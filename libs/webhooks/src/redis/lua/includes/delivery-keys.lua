--- Names the keys of deliveries and their endpoints.
-- A script finds out only while it runs which deliveries it changes. It therefore gets the prefix of the account's keys
-- (`...:{account}:`) as an argument. All these keys are in the account's hash slot.
-- @uses webhooks   Hash of the account's endpoints.
-- @uses base       Prefix of the account's keys.
--- @include "@platform/redis/lua/includes/now.lua"

local NOW = now_ms()

local function delivery(id) return base .. 'delivery:' .. id end
local function due(endpoint) return base .. 'endpoint:' .. endpoint .. ':due' end
local function inflight(endpoint) return base .. 'endpoint:' .. endpoint .. ':inflight' end
local function gaps(endpoint) return base .. 'endpoint:' .. endpoint .. ':gaps' end
-- Returns the sorted set of the endpoint's deliveries, or of those with one status, in the order of their creation.
local function listed(endpoint, status)
  return base .. 'endpoint:' .. endpoint .. ':deliveries' .. (status and ':' .. status or '')
end
local AGENDA, FINISHED = base .. 'webhooks:agenda', base .. 'deliveries:finished'

-- Adds to a sorted set, or removes from it, if the list of arguments is not empty. A list must be short enough for
-- `unpack`: some thousand arguments.
local function zadd(set, scores_and_members)
  if #scores_and_members > 0 then redis.call('ZADD', set, unpack(scores_and_members)) end
end
local function zrem(set, members)
  if #members > 0 then redis.call('ZREM', set, unpack(members)) end
end

-- Returns a stored endpoint as text and decoded, or nil. Leaves out the contact ids of its filter: there may be many,
-- and deliveries do not need them. The two texts around the ids occur nowhere else in the record.
local function endpoint_record(endpoint)
  local stored = redis.call('HGET', webhooks, endpoint)
  if not stored then return nil end
  local from = string.find(stored, ',"contactIds":[', 1, true)
  local to = from and string.find(stored, '],"description":', from, true)
  if to then stored = string.sub(stored, 1, from) .. string.sub(stored, to + 2) end
  return stored, cjson.decode(stored)
end
