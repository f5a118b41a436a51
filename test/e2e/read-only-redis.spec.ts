import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { type ProductName, startProcess } from '../support/process.js';
import { startTestRedis, type TestRedis } from '../support/redis-server.js';

let server: TestRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startTestRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  await redis.quit();
  await server.dispose();
});

const ENVIRONMENT = {
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  API_KEY: 'a-key-that-is-long-enough',
  UPSTREAM_BASE_URL: 'http://127.0.0.1:1/v1',
  UPSTREAM_API_KEY: 'key',
  PORT: '0',
  WORKER_PORT: '0',
};

const RECONNECTS_WITHIN_MS = 30_000;

/** Waits until the process has reconnected three times, as it does while Redis refuses its writes. */
async function threeReconnects(): Promise<void> {
  const connections = async (): Promise<number> =>
    Number(/total_connections_received:(\d+)/.exec(await redis.info('stats'))?.[1]);
  const before = await connections();
  await eventually(
    'the process reconnects',
    async () => (await connections()) >= before + 3,
    RECONNECTS_WITHIN_MS,
  );
}

const readyStatus = async (port: number): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}/health/ready`)).status;

describe.each(['gateway', 'worker'] as const satisfies ProductName[])(
  'a %s whose Redis is a read-only replica',
  (name) => {
    it('starts, logs READONLY in only a few lines, works after the promotion of the replica, and exits with status 0 while Redis is a replica again', async () => {
      await redis.call('REPLICAOF', '127.0.0.1', '1');
      const started = await startProcess(name, { ...ENVIRONMENT, REDIS_URL: server.url });
      try {
        expect((await fetch(`http://127.0.0.1:${started.port}/health/live`)).status).toBe(200);
        expect(await readyStatus(started.port)).toBe(503);
        const before = started.output().split('\n').length;
        await threeReconnects();
        expect(started.output().split('\n').length - before).toBeLessThan(10);
        expect(started.output()).toContain('READONLY');
        await redis.call('REPLICAOF', 'NO', 'ONE');
        await eventually('the process is ready', async () => (await readyStatus(started.port)) === 200);
        await redis.call('REPLICAOF', '127.0.0.1', '1');
        await eventually('the process is no longer ready', async () => {
          return (await readyStatus(started.port)) === 503;
        });
      } finally {
        expect(await started.stop()).toBe(0);
        await redis.call('REPLICAOF', 'NO', 'ONE');
      }
    });
  },
);
