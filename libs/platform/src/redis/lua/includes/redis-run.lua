--- Names the current Redis run: a restart, a failover and a restored backup begin another one.
-- Each new run may lack the last seconds of the run before.
--
-- A restart brings another run id. A promotion brings another replication id, even for a process that was the master
-- before: it copied its data from the master in between. A process that was never promoted has no second replication
-- id. Its run id alone names the run, as in earlier builds.

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
