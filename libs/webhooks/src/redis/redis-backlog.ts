import { MOST_REFILLED } from '../delivery/delivery-store.js';

/**
 * How much may be pending at an endpoint. What comes above the bound is not made a delivery: a stretch of the log, the
 * newest of the endpoint's gaps, ends in `behind` and says what is still to be made, in the order of the log, as soon as
 * there is room again. While there is such a stretch everything new widens it, so that nothing overtakes. Whatever
 * happens to it, it is a gap: it can be replayed as what was missed.
 *
 * An endpoint that never worked, or has done nothing but fail for a minute, is taken for dead: little is pending there.
 * It may be that only what is pending fails, and what is behind would succeed: one of those is let through from time
 * to time. The first success opens the endpoint again.
 *
 * `backlog`, a hash: `works`: it has succeeded once. `probedAt`: when one was last let through, in ms by Redis' clock.
 */
export const BACKLOG = `
local MAX_PENDING, MAX_PENDING_DEAD, DEAD_AFTER_MS, PROBE_MS, MAX_REFILL = 20000, 500, 60000, 20000, ${MOST_REFILLED}

local function backlog(endpoint) return BASE .. 'endpoint:' .. endpoint .. ':backlog' end
local function pending_at(endpoint) return redis.call('ZCARD', listed(endpoint, 'pending')) end

local function max_pending(endpoint)
  if redis.call('HEXISTS', backlog(endpoint), 'works') == 0 then return MAX_PENDING_DEAD end
  local failing = tonumber(redis.call('HGET', pace(endpoint), 'failingSince'))
  return failing and NOW - failing >= DEAD_AFTER_MS and MAX_PENDING_DEAD or MAX_PENDING
end

-- The stretch of the log that is still to be made deliveries of, or nil.
local function behind(endpoint)
  return string.match(redis.call('LINDEX', gaps(endpoint), -1) or '', '^(%S+) (%S+) behind$')
end

-- From when on some of what is behind may be made pending, or nil where that waits for something to end; and how many.
local function refill_from(endpoint)
  if not behind(endpoint) then return nil, 0 end
  local most, pending = max_pending(endpoint), pending_at(endpoint)
  -- With some room at least: each refill reads the log.
  if pending <= most * 0.9 then return NOW, math.min(most - pending, MAX_REFILL) end
  if most == MAX_PENDING or pending >= MAX_PENDING then return nil, 0 end
  local probed = tonumber(redis.call('HGET', backlog(endpoint), 'probedAt') or 0)
  return math.max(probed + PROBE_MS, NOW), 1
end

local function can_refill(endpoint)
  local at = refill_from(endpoint)
  return at ~= nil and at <= NOW
end

-- What is behind at an endpoint that is disabled was missed, like what was pending there.
local function give_up_behind(endpoint)
  local from, to = behind(endpoint)
  if from then redis.call('LSET', gaps(endpoint), -1, from .. ' ' .. to) end
end
`;
