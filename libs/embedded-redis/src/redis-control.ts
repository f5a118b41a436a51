import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { pause, withDeadline } from '#platform';
import { redisUrl, type Credentials } from './settings.js';

const ANSWER_WITHIN_MS = 2_000;
const CHECK_EVERY_MS = 20;

/** State of a server. `away`: no server listens, or the server rejects the password. */
export type RedisHealth = 'ready' | 'loading' | 'away';

/** Reads the state of the server with one attempt. */
export async function redisHealth(credentials: Credentials): Promise<RedisHealth> {
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
export async function serverIdentity(
  credentials: Credentials,
): Promise<{ pid: number; directory: string } | undefined> {
  return await runOnce(credentials, async (redis) => {
    const pid = /^process_id:(\d+)/m.exec(await redis.info('server'))?.[1];
    if (pid === undefined) return undefined;
    return { pid: Number(pid), directory: lastText(await redis.config('GET', 'dir')) };
  });
}

/**
 * Asks the server to save its data and exit. The server answers by closing the connection; watch the process for its
 * end.
 */
export async function requestShutdown(credentials: Credentials): Promise<void> {
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
 * Returns true if the process has ended but its parent has not read its exit status. In a container without an init
 * process, this state may last.
 */
function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // The file is missing: this is not Linux, or the process has just ended, which the next check shows.
    return false;
  }
}

/** Runs commands on a new connection, with one attempt. Resolves to undefined if they fail or take too long. */
async function runOnce<T>(
  credentials: Credentials,
  ask: (redis: Redis) => Promise<T>,
): Promise<T | undefined> {
  const redis = new Redis(redisUrl(credentials), {
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    retryStrategy: () => null,
    // The library waits this long even if the connection is already closed.
    disconnectTimeout: 50,
  });
  // The command that failed reports the error.
  redis.on('error', () => undefined);
  try {
    return await withDeadline(ask(redis), ANSWER_WITHIN_MS, 'Redis: an answer');
  } catch {
    // No server, another password, or a server that hangs or shuts down.
    return undefined;
  } finally {
    redis.disconnect();
  }
}

function lastText(reply: unknown): string {
  const last: unknown = Array.isArray(reply) ? reply.at(-1) : undefined;
  return typeof last === 'string' ? last : '';
}
