import { createHash } from 'node:crypto';
import type { RedisArgument } from '../../libs/platform/src/redis/redis-evalsha-script.js';
import type { RedisClient } from '#platform';

/** Replaces the command TIME of a script by the last argument of the script, in microseconds. */
const CLOCK = `
local real = redis
local redis = setmetatable({call = function(command, ...)
  if command ~= 'TIME' then return real.call(command, ...) end
  local us = tonumber(ARGV[#ARGV])
  return {math.floor(us / 1000000), us % 1000000}
end}, {__index = real})
`;

/**
 * Returns a client of the same Redis whose scripts read the time from `now` instead of from Redis' clock. Only for
 * scripts that ignore further arguments.
 * @param now time in milliseconds since 1970
 */
export function redisWithClock(redis: RedisClient, now: () => number): RedisClient {
  /** Digest of each script with the replaced TIME command, by the digest of the original script. */
  const loaded = new Map<string, string>();
  const run = (digest: string, rest: readonly RedisArgument[]): Promise<unknown> =>
    redis.call('evalsha', [digest, ...rest, Math.round(now() * 1_000)]);
  const call = async (command: string, [script = '', ...rest]: RedisArgument[]): Promise<unknown> => {
    const digest =
      command === 'eval'
        ? createHash('sha1')
            .update(script as string)
            .digest('hex')
        : String(script);
    if (command === 'eval')
      loaded.set(digest, String(await redis.call('script', ['load', CLOCK + String(script)])));
    const withClock = loaded.get(digest);
    if (withClock === undefined) throw new Error('NOSCRIPT');
    return run(withClock, rest);
  };
  return Object.assign(Object.create(redis) as RedisClient, { call });
}
