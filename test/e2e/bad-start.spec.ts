import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { type ProductName, runToEnd } from '../support/process.js';
import { withTestRedis } from '../support/redis-server.js';

const GOOD = {
  REDIS_URL: 'redis://127.0.0.1:1',
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  API_KEY: 'a-key-that-is-long-enough',
  UPSTREAM_BASE_URL: 'http://127.0.0.1:1/v1',
  UPSTREAM_API_KEY: 'key',
  PORT: '0',
  WORKER_PORT: '0',
};

const BOTH: readonly ProductName[] = ['gateway', 'worker'];

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

describe('a process with an invalid configuration exits with status 78 and', () => {
  it('prints one line for each missing variable (process: gateway)', async () => {
    const { code, stderr } = await runToEnd('gateway', {});
    expect(code).toBe(78);
    const named = lines(stderr).map((line) => /^(\w+) is required, for example \1=\S/.exec(line)?.[1]);
    expect(named.sort()).toEqual([
      'API_KEY',
      'ENCRYPTION_KEY',
      'REDIS_URL',
      'UPSTREAM_API_KEY',
      'UPSTREAM_BASE_URL',
    ]);
  });

  it('prints one line for each invalid variable, and no secret (process: worker)', async () => {
    const { code, stderr } = await runToEnd('worker', {
      ...GOOD,
      ENCRYPTION_KEY: 'c2hvcnQ=',
      POLL_MIN_INTERVAL_MS: 'soon',
      WORKER_ROLES: 'relay,cook',
      WEBHOOK_ALLOW_NETWORKS: '10.0.0.0/40',
    });
    expect(code).toBe(78);
    const named = lines(stderr).map((line) => /^(\w+) must be .+, for example \1=/.exec(line)?.[1]);
    expect(named.sort()).toEqual([
      'ENCRYPTION_KEY',
      'POLL_MIN_INTERVAL_MS',
      'WEBHOOK_ALLOW_NETWORKS',
      'WORKER_ROLES',
    ]);
    expect(stderr).not.toContain('c2hvcnQ=');
  });

  it.each(BOTH)('prints one line about a Redis server that may evict keys (process: %s)', async (name) => {
    await withTestRedis(async ({ url }) => {
      const redis = new Redis(url);
      await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await redis.quit();
      const { code, stderr } = await runToEnd(name, { ...GOOD, REDIS_URL: url });
      expect(code).toBe(78);
      expect(lines(stderr)).toHaveLength(1);
      expect(stderr).toMatch(/^REDIS_URL .*allkeys-lru.*noeviction/);
    });
  });

  it.each(BOTH)('prints one line about a database that Redis does not have (process: %s)', async (name) => {
    await withTestRedis(async ({ url }) => {
      const { code, stderr } = await runToEnd(name, { ...GOOD, REDIS_URL: `${url}/99` });
      expect(code).toBe(78);
      expect(lines(stderr)).toHaveLength(1);
      expect(stderr).toMatch(/^REDIS_URL .*database 99.*ERR DB index is out of range.*for example/);
    });
  });

  it.each(BOTH)('prints one line about a bucket without a region (process: %s)', async (name) => {
    await withTestRedis(async ({ url }) => {
      const { code, stderr } = await runToEnd(name, { ...GOOD, REDIS_URL: url, BLOB_STORE: 's3://bucket' });
      expect(code).toBe(78);
      expect(lines(stderr).filter((line) => line.startsWith('AWS_REGION is required'))).toHaveLength(1);
    });
  });

  it.each(BOTH)(
    'prints one line about a Redis server of an unsupported version (process: %s)',
    async (name) => {
      const old = createServer((socket) => {
        socket.on('data', (chunk) => {
          const info = 'redis_version:6.2.14\r\nloading:0\r\nmaxmemory_policy:noeviction\r\n';
          const commands = chunk.toString().match(/^\*\d+\r$/gm) ?? [];
          socket.write(`$${info.length}\r\n${info}\r\n`.repeat(commands.length));
        });
        socket.on('error', () => socket.destroy());
      });
      const port = await listening(old);
      try {
        const { code, stderr } = await runToEnd(name, { ...GOOD, REDIS_URL: `redis://127.0.0.1:${port}` });
        expect(code).toBe(78);
        expect(lines(stderr)).toHaveLength(1);
        expect(stderr).toMatch(/^REDIS_URL .*6\.2\.14.*7\.0 or newer/);
      } finally {
        old.close();
      }
    },
  );

  it.each([
    ['gateway', 'PORT'],
    ['worker', 'WORKER_PORT'],
  ] as const)(
    'prints one line with the port that is in use and the variable to change (process: %s)',
    async (name, variable) => {
      const other = createServer();
      const port = await listening(other);
      try {
        await withTestRedis(async ({ url }) => {
          const { code, stderr } = await runToEnd(name, {
            ...GOOD,
            REDIS_URL: url,
            [variable]: String(port),
          });
          expect(code).toBe(78);
          expect(lines(stderr)).toHaveLength(1);
          expect(stderr).toMatch(new RegExp(`^${variable}: .*${port}.* in use.*${variable}=`));
        });
      } finally {
        other.close();
      }
    },
  );
});
