import type { RedisClient } from '#platform';

/** Carries out one operation of a worker, or not: the worker may die at it. */
export type Gate = <T>(operation: () => Promise<T>) => Promise<T>;

/** The commands that the stores of the feed use. Any other one is a fault of the test, not a command that never fails. */
const COMMANDS = new Set([
  'call',
  'callBuffer',
  'hget',
  'hgetall',
  'hmget',
  'hmgetBuffer',
  'hscanBuffer',
  'hset',
  'time',
  'xrange',
  'zcard',
  'zrange',
]);

/**
 * A connection to Redis as one worker has it: each command passes the worker's gate.
 * @param heard is told what Redis answered to each command that was carried out, whether the worker hears it or not
 */
export function mortalRedis(redis: RedisClient, gate: Gate, heard: (reply: unknown) => void): RedisClient {
  return new Proxy(redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (!COMMANDS.has(String(name))) throw new Error(`no mortal command: ${String(name)}`);
      return (...args: unknown[]): Promise<unknown> =>
        gate(async () => {
          const reply = (await Reflect.apply(value, target, args)) as unknown;
          heard(reply);
          return reply;
        });
    },
  });
}
