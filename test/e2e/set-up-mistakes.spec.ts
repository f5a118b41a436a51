import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { READINESS_REASON_CODES } from '#platform';
import { runTidingsInside } from '../support/command-line.js';
import { eventually } from '../support/eventually.js';
import { type ProductProcess, ROOT, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';

interface Ready {
  status: string;
  reasons: string[];
  details: { code: string; count: number; remedy: string }[];
}

/** Likely misspellings. */
const MISSPELT = { UPSTEAM_BASE_URL: 'http://127.0.0.1:9/v1', WEBHOOK_TIMEOUT: '5000' };
const WITHIN_MS = 30_000;

let product: Product;

beforeAll(async () => {
  product = await Product.start(MISSPELT);
});
afterAll(async () => {
  await product[Symbol.asyncDispose]();
});

async function readyAt({ port }: Pick<ProductProcess, 'port'>): Promise<Ready> {
  const reply = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(5_000) });
  return (await reply.json()) as Ready;
}

/** Waits until readiness has this code, and checks that `tidings doctor` names the same remedy. */
async function detailOf(code: string, at: Pick<ProductProcess, 'port'> = product.gateway): Promise<object> {
  const detail = await eventually(
    `readiness says ${code}`,
    async () => (await readyAt(at)).details.find((each) => each.code === code) ?? false,
    WITHIN_MS,
  );
  const url = `http://127.0.0.1:${at.port}`;
  const doctor = await runTidingsInside(['--json', 'doctor'], {
    TIDINGS_URL: url,
    TIDINGS_API_KEY: product.apiKey,
  });
  expect(doctor.code).toBe(1);
  const found = doctor.stdout.split('\n').find((line) => line.includes(`readiness: ${code}`)) ?? '{}';
  expect(JSON.parse(found)).toMatchObject({ state: 'problem', remedy: detail.remedy });
  return detail;
}

/** Waits until readiness no longer has this code. */
async function untilResolved(code: string): Promise<void> {
  await eventually(
    `readiness does not say ${code}`,
    async () => !(await readyAt(product.gateway)).details.some((detail) => detail.code === code),
    WITHIN_MS,
  );
}

/** Starts an additional worker with other variables. */
async function startAdditionalWorker(environment: Record<string, string>): Promise<ProductProcess> {
  return startProcess('worker', { ...product.environment(), WORKER_PORT: '0', ...environment });
}

/** Creates an account with this upstream, and returns an API key of the account. */
async function accountWith(id: string, upstream: { baseUrl: string; apiKey: string }): Promise<string> {
  await product.json('POST', '/v1/accounts', { id, ...upstream });
  const scopes = ['messages:send', 'messages:read', 'admin'];
  const key = { account: id, scopes, name: 'of a test' };
  return (await product.json<{ key: string }>('POST', '/v1/api-keys', key)).key;
}

const SEND = { phoneNumber: '+15551230001', message: 'Hello' };

describe('a configuration mistake is reported with its remedy:', () => {
  it('a misspelt variable (each process logs a warning at its start that names the correct variable)', () => {
    for (const nearest of ['UPSTREAM_BASE_URL', 'WEBHOOK_TIMEOUT_MS'])
      expect(product.allOutput().split(`did you mean ${nearest}?`)).toHaveLength(3);
  });

  it('an upstream that is down, that rejects the API key, or that is a Tidings gateway, each with its own reason code', async () => {
    const simulator = `http://127.0.0.1:${product.simulator.port}/v1`;
    const gateway = `http://127.0.0.1:${product.gateway.port}/v1`;
    const away = await accountWith('away', { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'any' });
    // Sends fail at once: reads of contacts alone would take a quarter of a minute to fail often enough.
    for (let last = 1; last <= 5; last++)
      await product.json('POST', '/v1/messages/send', { ...SEND, phoneNumber: `+1555123000${last}` }, away);
    await accountWith('refused', { baseUrl: simulator, apiKey: 'not-the-key' });
    const circle = await accountWith('circle', { baseUrl: gateway, apiKey: product.apiKey });
    const { id } = await product.json<{ id: string }>('POST', '/v1/messages/send', SEND, circle);
    for (const [code, remedy] of [
      ['upstream_down', /messaging service is running/],
      ['upstream_refused', /UPSTREAM_API_KEY/],
      ['upstream_is_tidings', /UPSTREAM_BASE_URL/],
    ] as const) {
      expect(await detailOf(code)).toMatchObject({ count: 1, remedy: expect.stringMatching(remedy) });
    }
    const { readiness } = await product.json<{ readiness: { accounts: object[] } }>('GET', '/v1/status');
    expect(readiness.accounts).toMatchObject([
      { account: 'away', code: 'upstream_down', reason: expect.stringContaining('ECONNREFUSED') },
      { account: 'circle', code: 'upstream_is_tidings', reason: expect.stringContaining('Tidings gateway') },
      { account: 'refused', code: 'upstream_refused', reason: expect.stringContaining('401') },
    ]);
    // The send to the gateway itself was not relayed, and waits.
    expect(await product.json('GET', `/v1/sends/${id}`, undefined, circle)).toMatchObject({
      status: 'queued',
    });
    expect(await product.json('GET', '/v1/sends')).toMatchObject({ sends: [] });
    expect(await product.texts()).toEqual([]);
    for (const account of ['away', 'circle', 'refused'])
      expect((await product.call('DELETE', `/v1/accounts/${account}`)).status).toBe(204);
    await untilResolved('upstream_is_tidings');
  });

  it('no worker, or no worker with the role relay', async () => {
    await product.worker.stop();
    expect(await detailOf('no_worker')).toMatchObject({ remedy: expect.stringContaining('start a worker') });
    const poller = await startAdditionalWorker({ WORKER_ROLES: 'poll,dispatch' });
    try {
      expect(await detailOf('no_relay_worker')).toMatchObject({
        remedy: expect.stringContaining('WORKER_ROLES'),
      });
    } finally {
      await poller.stop();
    }
    await product.startWorker();
    await untilResolved('no_worker');
  });

  it('a worker that does not use the same blob store as the gateway', async () => {
    const apart = await startAdditionalWorker({ BLOB_STORE: `file:${product.blobDirectory}-of-another` });
    try {
      expect(await detailOf('blob_store_not_shared', apart)).toMatchObject({
        remedy: expect.stringContaining('BLOB_STORE'),
      });
      expect((await readyAt(product.worker)).details).toEqual([]);
    } finally {
      await apart.stop();
    }
  });

  it('a blob store that cannot be used', async () => {
    const broken = await startAdditionalWorker({ BLOB_STORE: 'file:/dev/null/blobs' });
    try {
      expect(await detailOf('blob_store_unusable', broken)).toMatchObject({
        remedy: expect.stringContaining('BLOB_STORE'),
      });
    } finally {
      await broken.stop();
    }
  });

  it('a Redis without persistence', async () => {
    const redis = new Redis(product.redis.url);
    try {
      await redis.config('SET', 'appendonly', 'no');
      expect(await detailOf('redis_not_persistent')).toMatchObject({
        remedy: expect.stringContaining('appendonly yes'),
      });
      await redis.config('SET', 'appendonly', 'yes');
      await untilResolved('redis_not_persistent');
    } finally {
      await redis.quit();
    }
  });
});

it('the table of docs/operations.md has a row for every readiness code', () => {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const table = /\| what is wrong [\s\S]*?\n\n/.exec(page)?.[0] ?? '';
  expect(READINESS_REASON_CODES.filter((code) => !table.includes(`\`${code}\``))).toEqual([]);
});
