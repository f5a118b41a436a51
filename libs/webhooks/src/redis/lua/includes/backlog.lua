--- Limits the number of pending deliveries of an endpoint.
-- An event above the limit gets no delivery. Instead, the newest of the endpoint's gaps is marked `behind`. It covers
-- the events that still have to become deliveries, in the order of the log, once the backlog has room. While this gap
-- exists, every new event extends it, so that no event overtakes another. A replay of missed events includes this
-- gap.
--
-- An endpoint that never succeeded, or whose attempts have all failed for a minute, counts as dead and gets a lower
-- limit. Later deliveries might still succeed, so one of them becomes pending from time to time as a probe. The first
-- success restores the normal limit.
--
-- Fields of the hash `backlog`: `works`: set once the endpoint has succeeded. `succeededAt`: time in ms of the last
-- success. `probedAt`: time in ms at which a delivery last became pending as a probe. `refilledAt`: time in ms of the
-- last refill.
-- @constant MAX_REFILL  Maximum number of deliveries that one refill makes pending.
--- @include "delivery-keys.lua"
--- @include "pace.lua"

local MAX_PENDING, MAX_PENDING_DEAD, DEAD_AFTER_MS, PROBE_MS = 20000, 500, 60000, 20000
local REFILL_MS = 1000

local function backlog(endpoint) return base .. 'endpoint:' .. endpoint .. ':backlog' end
local function pending_at(endpoint) return redis.call('ZCARD', listed(endpoint, 'pending')) end

local function max_pending(endpoint)
  if redis.call('HEXISTS', backlog(endpoint), 'works') == 0 then return MAX_PENDING_DEAD end
  local failing = tonumber(redis.call('HGET', pace(endpoint), 'failingSince'))
  return failing and NOW - failing >= DEAD_AFTER_MS and MAX_PENDING_DEAD or MAX_PENDING
end

-- Returns the first and last position of the events in the gap that is marked `behind`, or nil without such a gap.
local function behind(endpoint)
  return string.match(redis.call('LINDEX', gaps(endpoint), -1) or '', '^(%S+) (%S+) behind$')
end

-- Returns the time in ms of the first event that still has to become a delivery, or nil.
local function behind_since(endpoint)
  local from = behind(endpoint)
  return from and tonumber(string.match(from, '^%d+'))
end

-- Returns the time from which events without a delivery may become deliveries, or nil if an attempt has to end first.
-- Also returns the maximum number of these deliveries.
local function refill_from(endpoint)
  if not behind(endpoint) then return nil, 0 end
  local max, pending = max_pending(endpoint), pending_at(endpoint)
  -- Each refill reads the log. If less than a tenth of the limit is free, there is at most one refill per second.
  local room = math.min(max - pending, MAX_REFILL)
  if pending <= max * 0.9 then return NOW, room end
  if pending >= MAX_PENDING then return nil, 0 end
  if max == MAX_PENDING then
    local refilled = tonumber(redis.call('HGET', backlog(endpoint), 'refilledAt') or 0)
    return math.max(refilled + REFILL_MS, NOW), room
  end
  local probed = tonumber(redis.call('HGET', backlog(endpoint), 'probedAt') or 0)
  return math.max(probed + PROBE_MS, NOW), 1
end

local function can_refill(endpoint)
  local at = refill_from(endpoint)
  return at ~= nil and at <= NOW
end

-- Turns the events without deliveries of a disabled endpoint into missed events, like its pending deliveries.
local function miss_behind(endpoint)
  local from, to = behind(endpoint)
  if from then redis.call('LSET', gaps(endpoint), -1, from .. ' ' .. to .. ' open') end
end
