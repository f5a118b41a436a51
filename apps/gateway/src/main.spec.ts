import { createServer, type AddressInfo } from 'node:net';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../test/support/redis-server.js';
import { type Build, buildGateway, type GatewayProcess, runGateway } from './fixtures/built-gateway.js';

const KEY = 'a-long-random-key';

let build: Build;
let redis: TestRedis;

beforeAll(async () => {
  [build, redis] = await Promise.all([buildGateway(), startTestRedis()]);
});

afterAll(async () => {
  await redis.dispose();
  await build[Symbol.asyncDispose]();
});

function run(changes: Readonly<Record<string, string>> = {}): GatewayProcess {
  return runGateway(build.main, {
    REDIS_URL: redis.url,
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
    UPSTREAM_API_KEY: 'upstream-key',
    API_KEY: KEY,
    BLOB_STORE: `file:${redis.dataDirectory}/blobs`,
    PORT: '0',
    ...changes,
  });
}

/** Channels that have subscribers. */
async function channels(): Promise<unknown[]> {
  const client = openRedis(parseRedisAddress(redis.url), 'patient', () => undefined);
  try {
    return (await client.call('PUBSUB', 'CHANNELS')) as unknown[];
  } finally {
    await closeRedis(client);
  }
}

describe('The gateway process', () => {
  it('exits with 78 and one line per missing or invalid environment variable', async () => {
    await using gateway = runGateway(build.main, { PORT: 'x' });
    const { code, errors } = await gateway.ended;
    const names = ['API_KEY', 'ENCRYPTION_KEY', 'PORT', 'REDIS_URL', 'UPSTREAM_API_KEY', 'UPSTREAM_BASE_URL'];
    expect(code).toBe(78);
    expect(
      errors
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0])
        .sort(),
    ).toEqual(names);
  });

  it('exits with 78 if its port is in use, and prints one line with the address and the variable to change', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    await using gateway = run({ PORT: String(port) });
    const { code, errors } = await gateway.ended;
    other.close();
    expect(code).toBe(78);
    expect(errors).toMatch(
      new RegExp(`^PORT: the address 127\\.0\\.0\\.1:${port} is already in use .* PORT=\\d+\\n$`),
    );
  });

  it('exits with 78 and one line if Redis may evict keys', async () => {
    await using evicting = await startTestRedis();
    const { Redis } = await import('ioredis');
    const client = new Redis(evicting.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await client.quit();
    await using gateway = run({ REDIS_URL: evicting.url });
    const { code, errors } = await gateway.ended;
    expect([code, errors.trim().split('\n').length]).toEqual([78, 1]);
    expect(errors).toContain('noeviction');
  });

  it('starts while Redis is down, and is not ready until Redis is up', async () => {
    await using later = await startTestRedis();
    later.server.kill('SIGKILL');
    await later.server.exited;
    await using gateway = run({ REDIS_URL: later.url });
    const url = `http://127.0.0.1:${await gateway.ready}/health`;
    expect((await fetch(`${url}/live`)).status).toBe(200);
    expect((await fetch(`${url}/ready`)).status).toBe(503);
    await later.server.restart();
    await eventually('the gateway is ready', async () => (await fetch(`${url}/ready`)).status === 200);
  });

  it('stores a send in Redis, and repeats its response for the same idempotency key', async () => {
    await using gateway = run();
    const url = `http://127.0.0.1:${await gateway.ready}`;
    const send = (): Promise<Response> =>
      fetch(`${url}/v1/messages/send`, {
        method: 'POST',
        headers: { 'x-api-key': KEY, 'content-type': 'application/json', 'idempotency-key': 'k' },
        body: JSON.stringify({ phoneNumber: '+14155550123', message: 'hi' }),
      });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    const stored = await fetch(url + String(first.headers.get('location')), {
      headers: { 'x-api-key': KEY },
    });
    expect(await stored.json()).toMatchObject({ status: 'queued', phoneNumber: '+14155550123' });
  });

  it.each(['SIGTERM', 'SIGINT', 'disconnect'] as const)(
    'exits with 0 after %s: requests in flight are answered and idle connections are closed',
    async (how) => {
      await using gateway = run();
      const port = await gateway.ready;
      const agent = new Agent({ keepAlive: true });
      await new Promise<void>((resolve, reject) => {
        const idle = request({ agent, port, path: '/health/live' }, (response) => {
          response.resume().once('end', resolve);
        });
        idle.once('error', reject).end();
      });
      const waiting = fetch(`http://127.0.0.1:${port}/v1/events?after=now&wait=30`, {
        headers: { 'x-api-key': KEY },
      });
      await eventually('the request waits for events', async () => (await channels()).length > 0);
      const began = performance.now();
      if (how === 'disconnect') gateway.child.disconnect();
      else gateway.child.kill(how);
      expect((await waiting).status).toBe(200);
      expect((await gateway.ended).code).toBe(0);
      expect(performance.now() - began).toBeLessThan(5_000);
      agent.destroy();
    },
  );
});
