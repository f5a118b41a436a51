import type { RedisClient } from '#platform';

/** Executes an operation of a worker, or lets the worker die at the operation. */
export type Gate = <T>(operation: () => Promise<T>) => Promise<T>;

/** The commands that the feed's stores use. Any other command is a mistake in the test. */
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
 * Returns a Redis connection of one worker. Each command passes through the worker's gate.
 * @param heard called with Redis' reply to each executed command, even if the worker does not receive the
 * reply
 */
export function mortalRedis(redis: RedisClient, gate: Gate, onReply: (reply: unknown) => void): RedisClient {
  return new Proxy(redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (!COMMANDS.has(String(name))) throw new Error(`command not supported by this test: ${String(name)}`);
      return (...args: unknown[]): Promise<unknown> =>
        gate(async () => {
          const reply = (await Reflect.apply(value, target, args)) as unknown;
          onReply(reply);
          return reply;
        });
    },
  });
}
