--- Bounds the number of deliveries that are pending at an endpoint.
-- An event above the bound gets no delivery. A stretch of the log, the newest of the endpoint's gaps, ends in
-- `behind` and says which events still have to become deliveries, in the order of the log, as soon as there is room.
-- While there is such a stretch every new event widens it: no event overtakes another. The stretch is a gap: a replay
-- of what was missed includes it.
--
-- An endpoint that never succeeded, or that has done nothing but fail for a minute, counts as dead: few deliveries
-- are pending there. Perhaps only the pending deliveries fail, and the ones behind would succeed: one of those
-- becomes pending from time to time. The first success opens the endpoint again.
--
-- `backlog`, a hash: `works`: the endpoint has succeeded once. `probedAt`: when a delivery last became pending as a
-- probe, in ms by Redis' clock.
-- @constant MAX_REFILL   Maximum number of deliveries that one refill makes pending.
--- @include "delivery-keys.lua"
--- @include "pace.lua"

local MAX_PENDING, MAX_PENDING_DEAD, DEAD_AFTER_MS, PROBE_MS = 20000, 500, 60000, 20000

local function backlog(endpoint) return base .. 'endpoint:' .. endpoint .. ':backlog' end
local function pending_at(endpoint) return redis.call('ZCARD', listed(endpoint, 'pending')) end

local function max_pending(endpoint)
  if redis.call('HEXISTS', backlog(endpoint), 'works') == 0 then return MAX_PENDING_DEAD end
  local failing = tonumber(redis.call('HGET', pace(endpoint), 'failingSince'))
  return failing and NOW - failing >= DEAD_AFTER_MS and MAX_PENDING_DEAD or MAX_PENDING
end

-- Returns the stretch of the log whose events still have to become deliveries, or nil.
local function behind(endpoint)
  return string.match(redis.call('LINDEX', gaps(endpoint), -1) or '', '^(%S+) (%S+) behind$')
end

-- Returns the time from which deliveries that are behind may become pending, or nil if an attempt has to end first;
-- and their number.
local function refill_from(endpoint)
  if not behind(endpoint) then return nil, 0 end
  local max, pending = max_pending(endpoint), pending_at(endpoint)
  -- Each refill reads the log: the function waits for some room.
  if pending <= max * 0.9 then return NOW, math.min(max - pending, MAX_REFILL) end
  if max == MAX_PENDING or pending >= MAX_PENDING then return nil, 0 end
  local probed = tonumber(redis.call('HGET', backlog(endpoint), 'probedAt') or 0)
  return math.max(probed + PROBE_MS, NOW), 1
end

local function can_refill(endpoint)
  local at = refill_from(endpoint)
  return at ~= nil and at <= NOW
end

-- Marks the events that are behind at a disabled endpoint as missed, like the deliveries that were pending there.
local function miss_behind(endpoint)
  local from, to = behind(endpoint)
  if from then redis.call('LSET', gaps(endpoint), -1, from .. ' ' .. to) end
end
