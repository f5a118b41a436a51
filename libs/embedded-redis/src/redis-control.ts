import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { pause, withDeadline } from '#platform';
import { redisUrl, type Credentials } from './settings.js';

const ANSWER_WITHIN_MS = 2_000;
const CHECK_EVERY_MS = 20;

/**
 * State of a Redis server. `ready`: it answers. `loading`: it is still loading its data. `away`: it does not
 * answer, or it rejects the password.
 */
export type RedisHealth = 'ready' | 'loading' | 'away';

/** Asks the Redis server for its state once, without a retry. */
export async function readRedisServerHealth(credentials: Credentials): Promise<RedisHealth> {
  const reply = await runOnce(credentials, async (redis) => {
    try {
      return await redis.ping();
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('LOADING')) return 'LOADING';
      throw error;
    }
  });
  if (reply === undefined) return 'away';
  return reply === 'LOADING' ? 'loading' : 'ready';
}

/** Reads the server's process id and data directory. Resolves to undefined if no server with this password answers. */
export async function readRedisServerIdentity(
  credentials: Credentials,
): Promise<{ pid: number; directory: string } | undefined> {
  return await runOnce(credentials, async (redis) => {
    const pid = /^process_id:(\d+)/m.exec(await redis.info('server'))?.[1];
    if (pid === undefined) return undefined;
    return { pid: Number(pid), directory: lastText(await redis.config('GET', 'dir')) };
  });
}

/**
 * Asks the Redis server to save its data and exit. Ignores failures. The server process may still be running when
 * this function resolves.
 */
export async function requestRedisShutdown(credentials: Credentials): Promise<void> {
  await runOnce(credentials, (redis) => redis.shutdown());
}

/** Waits until the process with this id has ended. Resolves to false if it still runs after `withinMs` milliseconds. */
export async function waitForProcessEnd(pid: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (isRunning(pid)) {
    if (performance.now() > deadline) return false;
    await pause(CHECK_EVERY_MS);
  }
  return true;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

/**
 * Returns true if the process has ended, but its parent process has not read its exit status yet. In a
 * container without an init process, this state may last.
 */
function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // `/proc` does not contain the process: this is not Linux, or the process has just ended. In the latter case,
    // the next check finds that the process has ended.
    return false;
  }
}

/**
 * Runs commands on a new connection to the Redis server, without a retry. Resolves to undefined if the
 * commands fail or take longer than {@link ANSWER_WITHIN_MS}.
 */
async function runOnce<T>(
  credentials: Credentials,
  ask: (redis: Redis) => Promise<T>,
): Promise<T | undefined> {
  const redis = new Redis(redisUrl(credentials), {
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    retryStrategy: () => null,
    // Maximum time that `disconnect()` takes to close the connection, in milliseconds.
    disconnectTimeout: 50,
  });
  // Ignores connection errors here, because the failed command reports them.
  redis.on('error', () => undefined);
  try {
    return await withDeadline(ask(redis), ANSWER_WITHIN_MS, 'Redis: an answer');
  } catch {
    // Nothing listens on the port, the password is wrong, or the server hangs or is shutting down.
    return undefined;
  } finally {
    redis.disconnect();
  }
}

function lastText(reply: unknown): string {
  const last: unknown = Array.isArray(reply) ? reply.at(-1) : undefined;
  return typeof last === 'string' ? last : '';
}
