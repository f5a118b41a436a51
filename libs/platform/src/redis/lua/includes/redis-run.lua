--- Identifies the current Redis run. A restart, a failover or a restored backup begins a new run.
-- A new run may lack the last seconds of the previous run.
--
-- A restart changes the run id of a Redis process. A promotion to master changes the replication id. Both ids are
-- needed, because a process that becomes master again keeps its run id, but has copied the data of another master
-- meanwhile. A process that was never promoted has no second replication id. Its run id alone identifies the run, as in
-- earlier builds.

local current_run
local function find_redis_run()
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local replication = redis.call('INFO', 'replication')
  local former = string.match(replication, 'master_replid2:(%x+)')
  if not former or string.match(former, '^0+$') then return run end
  return run .. ':' .. string.match(replication, 'master_replid:(%x+)')
end
local function redis_run()
  current_run = current_run or find_redis_run()
  return current_run
end
