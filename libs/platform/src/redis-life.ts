/**
 * A Lua fragment for scripts. `life()` says which life of Redis this is: a restart, a failover and a restored backup bring
 * another run id, and each of them may have lost the last seconds.
 */
export const REDIS_LIFE = `
local function life() return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') end
`;
