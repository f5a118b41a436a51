/**
 * A Lua fragment for scripts. `life()` says which life of Redis this is: a restart, a failover and a restored backup bring
 * another one, and each of them may have lost the last seconds.
 *
 * A restart brings another run id. A promotion brings another replication id, also where it comes back to a process that was
 * the master before: what that one knows now it has from the master in between. A process that was never promoted has no
 * second replication id, and is known by its run id alone, as by earlier builds.
 */
export const REDIS_LIFE = `
local current_life
local function find_life()
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local replication = redis.call('INFO', 'replication')
  local former = string.match(replication, 'master_replid2:(%x+)')
  if not former or string.match(former, '^0+$') then return run end
  return run .. ':' .. string.match(replication, 'master_replid:(%x+)')
end
local function life()
  current_life = current_life or find_life()
  return current_life
end
`;
