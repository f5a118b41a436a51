import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { pause } from '../deadline.js';
import { addressOf, type Credentials } from './settings.js';

const CONNECT_TIMEOUT_MS = 2_000;
const COMMAND_TIMEOUT_MS = 2_000;
const LOOK_AGAIN_MS = 20;

/** What a server says when it is asked how it is: `away` where nobody listens, or nobody who knows the password. */
export type Health = 'ready' | 'loading' | 'away';

/** Asks once. */
export async function healthOf(credentials: Credentials): Promise<Health> {
  return await inquire(credentials, async (redis) => {
    try {
      await redis.ping();
      return 'ready';
    } catch (error) {
      return error instanceof Error && error.message.startsWith('LOADING') ? 'loading' : 'away';
    }
  });
}

/** The server's process id and data directory, by its own word; undefined where nobody with this password answers. */
export async function identityOf(
  credentials: Credentials,
): Promise<{ pid: number; directory: string } | undefined> {
  return await inquire(credentials, async (redis) => {
    try {
      const pid = /^process_id:(\d+)/m.exec(await redis.info('server'))?.[1];
      const directory = lastText(await redis.config('GET', 'dir'));
      return pid === undefined ? undefined : { pid: Number(pid), directory };
    } catch {
      return undefined;
    }
  });
}

/** Asks the server to write everything down and end. Whether it has ended is for the caller to watch. */
export async function askToShutDown(credentials: Credentials): Promise<void> {
  await inquire(credentials, async (redis) => {
    try {
      await redis.shutdown();
    } catch {
      // It answers by closing the connection.
    }
  });
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

/** Runs questions on a connection of their own, one attempt, bounded in time. */
async function inquire<T>(credentials: Credentials, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(addressOf(credentials), {
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    retryStrategy: () => null,
  });
  // What went wrong is told by the command that failed.
  redis.on('error', () => undefined);
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

function lastText(reply: unknown): string {
  const last: unknown = Array.isArray(reply) ? reply.at(-1) : undefined;
  return typeof last === 'string' ? last : '';
}
