--- Replaces an endpoint with its events in one atomic step, unless it changed since it was read.
-- The endpoint is added to the agenda, so that a worker applies the change even if this process ends.
-- @key log           Stream of the account's events.
-- @key log_index     Hash from an event's id to its position in the log.
-- @key log_counters  Hash of the log's counters.
-- @key webhooks      Hash of the account's endpoints.
-- @key agenda        Sorted set of endpoints by when they need attention, in ms.
-- @key speed         Hash of the endpoint's pace.
-- @key older_pace    Hash of the endpoint's pace as older builds store it.
-- @key filters       Hash from an endpoint's id to the size of its filter in bytes.
-- @key revision      Revision of the account's endpoints.
-- @arg id            The endpoint's id.
-- @arg expected      The endpoint as it was read.
-- @arg replacement   The endpoint as JSON.
-- @arg bytes         Size of the replacement's filter in bytes.
-- @arg grows         '1' if the filter becomes larger.
-- @arg resets_pace   '1' if the endpoint starts with a new pace: it is enabled or disabled, or its URL changes.
-- @arg ends_pause    '1' to end a pause of the endpoint.
-- @arg moves         '1' if the URL of an enabled endpoint changes, and the endpoint stays enabled.
-- @arg max_bytes     Maximum total size of all filters in bytes.
-- @arg failing_ms    Only replaces an endpoint whose attempts have all failed for this time in ms; '' for any.
-- @args events       Events to append (`appendEventsLuaArguments`).
-- @reply             'replaced', 'other' if the endpoint changed, 'filters' if the filters would exceed their limit, or
--                    'works' if an attempt succeeded meanwhile.
--- @include "@events/lua/includes/append-events.lua"
--- @include "includes/filters.lua"
--- @include "includes/revision.lua"

if redis.call('HGET', webhooks, id) ~= expected then return 'other' end
if failing_ms ~= '' then
  local since, time = tonumber(redis.call('HGET', speed, 'failingSince')), redis.call('TIME')
  if not since or time[1] * 1000 + time[2] / 1000 - since < tonumber(failing_ms) then return 'works' end
end
if grows == '1' and not keep_filters(webhooks, filters, id, tonumber(bytes), max_bytes) then return 'filters' end
redis.call('HSET', filters, id, bytes)
change_revision(revision)
redis.call('HSET', webhooks, id, replacement)
redis.call('ZADD', agenda, 0, id)
-- Failures and pauses from before this change do not count for the new pace.
if resets_pace == '1' then
  local failing, recovering = unpack(redis.call('HMGET', speed, 'failingSince', 'recovering'))
  redis.call('DEL', speed)
  -- Deliveries that failed before may wait for hours: the next success expedites them from the earliest on. If the
  -- endpoint is disabled or enabled instead, no earlier delivery waits.
  if moves == '1' and (failing or recovering) then redis.call('HSET', speed, 'recovering', 0) end
  -- The pace of older builds is removed, too, unless it prevents their claims: see older-builds.lua.
  if redis.call('HEXISTS', older_pace, 'moved') == 0 then redis.call('DEL', older_pace) end
end
if ends_pause == '1' then redis.call('HDEL', speed, 'heldUntil') end
append_events(events_from)
return 'replaced'
