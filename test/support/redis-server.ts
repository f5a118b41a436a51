import { rm } from 'node:fs/promises';
import { type EmbeddedRedis, startEmbeddedRedis } from '#embedded-redis';
import { redisDirectory } from './redis-directory.js';
import { redisProgram } from './redis-program.js';

/** An empty Redis for one test file, which may be killed and restarted. */
export interface TestRedis extends AsyncDisposable {
  readonly url: string;
  /** The server process, for kills, stops and restarts. */
  readonly server: EmbeddedRedis;
  /** Directory of the append-only file. */
  readonly dataDirectory: string;
  /** Stops Redis and removes its data. */
  dispose(): Promise<void>;
}

/** Starts a private Redis on a free port. Call it in `beforeAll`, and `dispose` in `afterAll`. */
export async function startTestRedis(): Promise<TestRedis> {
  const dataDirectory = await redisDirectory('tidings-redis-');
  const remove = (): Promise<void> => rm(dataDirectory, { recursive: true, force: true });
  let server: EmbeddedRedis;
  try {
    server = await startEmbeddedRedis({ dataDirectory, binary: await redisProgram() });
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

/** Runs the body with a new Redis. */
export async function withTestRedis<T>(body: (redis: TestRedis) => Promise<T>): Promise<T> {
  const redis = await startTestRedis();
  try {
    return await body(redis);
  } finally {
    await redis.dispose();
  }
}
