--- Schedules the tasks of an agenda.
-- @uses due          Sorted set of tasks by time.
-- @uses claimed      Hash from a task to its claim.
-- @uses rescheduled  Hash from a task to its next time.
--- @include "@platform/redis/lua/includes/now.lua"

local now = now_ms()

-- Parses a time, in ms: `+ms` from now, `@ms` since 1970, or `/every:phase` for the next time with this phase of the
-- interval. Returns the time in ms since 1970.
local function time_of(written)
  local kind, rest = string.sub(written, 1, 1), string.sub(written, 2)
  if kind == '+' then return now + tonumber(rest) end
  if kind == '@' then return tonumber(rest) end
  local every, phase = string.match(rest, '^(%d+):(%d+)$')
  return now + every - (now - phase) % every
end

local function first_time()
  return tonumber(redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2])
end

-- Wakes the processes that wait for the next task, which is due at `at`.
-- `pcall`: if the Redis user lacks the right to publish, tasks are scheduled all the same.
local function wake(at) redis.pcall('PUBLISH', due .. ':sooner', whole(math.max(at - now, 0))) end

-- Runs `change`, and wakes the waiting processes if the first task is due earlier than before.
local function wake_if_sooner(change)
  local before = first_time()
  change()
  local after = first_time()
  if after and (not before or after < before) then wake(after) end
end

-- Makes tasks due. The arguments from this index on are pairs of a task and its time. A task under way keeps its
-- lease. It becomes due again at its time, but not before its claim ends.
local function schedule(from)
  if from > #ARGV then return end
  wake_if_sooner(function()
    for i = from, #ARGV, 2 do
      local task, at = ARGV[i], time_of(ARGV[i + 1])
      if redis.call('HEXISTS', claimed, task) == 1 and redis.call('ZSCORE', due, task) then
        local earlier = redis.call('HGET', rescheduled, task)
        if not earlier or tonumber(earlier) > at then redis.call('HSET', rescheduled, task, whole(at)) end
      else
        redis.call('ZADD', due, 'LT', whole(at), task)
      end
    end
  end)
end
