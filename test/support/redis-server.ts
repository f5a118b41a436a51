import { rm } from 'node:fs/promises';
import { type EmbeddedRedis, startEmbeddedRedis } from '#embedded-redis';
import { redisDirectory } from './redis-directory.js';

/** A Redis for one test file, with nothing in it: it may be killed and restarted, and leaves nothing behind. */
export interface TestRedis extends AsyncDisposable {
  readonly url: string;
  /** To kill, stop and restart it. */
  readonly server: EmbeddedRedis;
  /** Where its append-only file lives. */
  readonly dataDirectory: string;
  /** Stops it and removes its data. */
  dispose(): Promise<void>;
}

/** Starts a private Redis on a free port. `beforeAll` it, and `dispose` of it in `afterAll`. */
export async function startTestRedis(): Promise<TestRedis> {
  const dataDirectory = await redisDirectory('tidings-redis-');
  const remove = (): Promise<void> => rm(dataDirectory, { recursive: true, force: true });
  let server: EmbeddedRedis;
  try {
    server = await startEmbeddedRedis({ dataDirectory });
  } catch (error) {
    await remove();
    throw error;
  }
  const dispose = async (): Promise<void> => {
    await server.stop();
    await remove();
  };
  return { url: server.url, server, dataDirectory, dispose, [Symbol.asyncDispose]: dispose };
}

/** Runs the body with a Redis of its own. */
export async function withTestRedis<T>(body: (redis: TestRedis) => Promise<T>): Promise<T> {
  const redis = await startTestRedis();
  try {
    return await body(redis);
  } finally {
    await redis.dispose();
  }
}
