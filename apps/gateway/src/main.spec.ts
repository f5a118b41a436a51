import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { type ProductProcess, startProcess } from '../../../test/support/process.js';
import { startTestRedis, type TestRedis } from '../../../test/support/redis-server.js';

interface Gateway extends ProductProcess, AsyncDisposable {
  url: string;
}

const KEY = 'a-long-random-key';

let redis: TestRedis;

beforeAll(async () => {
  redis = await startTestRedis();
});

afterAll(() => redis.dispose());

/** Starts a gateway, which ends with the test. */
async function start(changes: Readonly<Record<string, string>> = {}): Promise<Gateway> {
  const gateway = await startProcess('gateway', {
    REDIS_URL: redis.url,
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
    UPSTREAM_API_KEY: 'upstream-key',
    API_KEY: KEY,
    BLOB_STORE: `file:${redis.dataDirectory}/blobs`,
    PORT: '0',
    ...changes,
  });
  return {
    ...gateway,
    url: `http://127.0.0.1:${gateway.port}`,
    [Symbol.asyncDispose]: async () => {
      await gateway.stop('SIGKILL');
    },
  };
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
  it('starts while Redis is down, and is not ready until Redis is up', async () => {
    await using later = await startTestRedis();
    later.server.kill('SIGKILL');
    await later.server.exited;
    await using gateway = await start({ REDIS_URL: later.url });
    const url = `${gateway.url}/health`;
    expect((await fetch(`${url}/live`)).status).toBe(200);
    expect((await fetch(`${url}/ready`)).status).toBe(503);
    await later.server.restart();
    await eventually('the gateway is ready', async () => (await fetch(`${url}/ready`)).status === 200);
  });

  it('stores a send in Redis, and returns the same response to a repeated request with the same idempotency key', async () => {
    await using gateway = await start();
    const { url } = gateway;
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
    'exits with 0 after the signal or IPC event %s: requests in flight are answered and idle connections are closed',
    async (how) => {
      await using gateway = await start();
      const { port, child, url } = gateway;
      const exited = once(child, 'exit');
      const agent = new Agent({ keepAlive: true });
      await new Promise<void>((resolve, reject) => {
        const idle = request({ agent, port, path: '/health/live' }, (response) => {
          response.resume().once('end', resolve);
        });
        idle.once('error', reject).end();
      });
      const waiting = fetch(`${url}/v1/events?after=now&wait=30`, {
        headers: { 'x-api-key': KEY },
      });
      await eventually('the request waits for events', async () => (await channels()).length > 0);
      const began = performance.now();
      if (how === 'disconnect') child.disconnect();
      else child.kill(how);
      expect((await waiting).status).toBe(200);
      expect(await exited).toEqual([0, null]);
      expect(performance.now() - began).toBeLessThan(5_000);
      agent.destroy();
    },
  );
});
