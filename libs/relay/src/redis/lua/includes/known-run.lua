--- Stores when the current Redis run was first noticed.
-- The hash `known_run` contains the id and the start of the run, and in `reported` the last run that a lane head
-- reported. Earlier builds do not store `reported`, because they report a run when they store it.
--- @include "@platform/redis/lua/includes/now.lua"
--- @include "@platform/redis/lua/includes/redis-run.lua"

-- Returns the start of the current run in ms, which is when the run was noticed, and the run that was reported last.
local function run_since(known_run)
  local current = redis_run()
  local known = redis.call('HMGET', known_run, 'id', 'since', 'reported')
  if known[1] == current then return known[2], known[3] or current end
  local since, reported = whole(now_ms()), known[3] or known[1] or current
  -- A full Redis refuses the write. The next call stores the run, with a later start.
  redis.pcall('HSET', known_run, 'id', current, 'since', since, 'reported', reported)
  return since, reported
end
