import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { pause, withDeadline } from '#platform';
import { addressOf, type Credentials } from './settings.js';

const ANSWER_WITHIN_MS = 2_000;
const LOOK_AGAIN_MS = 20;

/** What a server says when it is asked how it is: `away` where nobody listens, or nobody who knows the password. */
export type Health = 'ready' | 'loading' | 'away';

/** Asks once. */
export async function healthOf(credentials: Credentials): Promise<Health> {
  const reply = await inquire(credentials, async (redis) => {
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

/** The server's process id and data directory, by its own word; undefined where nobody with this password answers. */
export async function identityOf(
  credentials: Credentials,
): Promise<{ pid: number; directory: string } | undefined> {
  return await inquire(credentials, async (redis) => {
    const pid = /^process_id:(\d+)/m.exec(await redis.info('server'))?.[1];
    if (pid === undefined) return undefined;
    return { pid: Number(pid), directory: lastText(await redis.config('GET', 'dir')) };
  });
}

/** Asks the server to write everything down and end. Its answer is to close; watch the process for its end. */
export async function askToShutDown(credentials: Credentials): Promise<void> {
  await inquire(credentials, (redis) => redis.shutdown());
}

/** Waits until no process has this id; false if one still has when the time is over. */
export async function hasEnded(pid: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (isRunning(pid)) {
    if (performance.now() > deadline) return false;
    await pause(LOOK_AGAIN_MS);
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

/** Ended, but not yet fetched by its parent: in a container without an init process nobody may ever do that. */
function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // No such file: not Linux, or it is gone, which the next look will tell.
    return false;
  }
}

/** Runs questions on a connection of their own, one attempt; undefined if it fails or takes too long. */
async function inquire<T>(
  credentials: Credentials,
  ask: (redis: Redis) => Promise<T>,
): Promise<T | undefined> {
  const redis = new Redis(addressOf(credentials), {
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    retryStrategy: () => null,
    // The library waits this long even for a connection that is closed already.
    disconnectTimeout: 50,
  });
  // What went wrong is told by the question that failed.
  redis.on('error', () => undefined);
  try {
    return await withDeadline(ask(redis), ANSWER_WITHIN_MS, 'Redis: an answer');
  } catch {
    // Nobody there, another password, a server that hangs or is closing: no answer.
    return undefined;
  } finally {
    redis.disconnect();
  }
}

function lastText(reply: unknown): string {
  const last: unknown = Array.isArray(reply) ? reply.at(-1) : undefined;
  return typeof last === 'string' ? last : '';
}
