import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { sampleRequests, type SampleIds, type SampleRequest } from '../support/sample-requests.js';

/** Simultaneous requests of each operation; all operations run at the same time. */
const AT_ONCE = 3;
const WITHIN_MS = 2_000;

let product: Product;
let redis: Redis;
let requests: SampleRequest[];

interface Outcome {
  request: SampleRequest;
  status: number;
  ms: number;
  headers: Headers;
  body: string | undefined;
}

beforeAll(async () => {
  product = await Product.start({ RATE_LIMIT_PER_MINUTE: '1000000' });
  await product.worker.stop();
  redis = new Redis(product.redis.url);
  redis.on('error', () => undefined);
  requests = sampleRequests(product.api, await createOneOfEach());
  // Opens the connections in advance, so that the measured time is that of the gateway.
  const nothing = { operationId: 'resolveSends', method: 'POST', path: '/v1/sends/resolve', body: {} };
  await Promise.all(Array.from({ length: requests.length * AT_ONCE }, () => ask(nothing)));
});

afterAll(async () => {
  redis.disconnect();
  await product[Symbol.asyncDispose]();
});

/** Creates one object of each kind, and returns their ids. */
async function createOneOfEach(): Promise<SampleIds> {
  const { contacts } = await product.simulate<{ contacts: { id: string }[] }>('contacts', {
    phoneNumber: '+14155550199',
  });
  const send = await product.json<{ id: string }>('POST', '/v1/messages/send', {
    phoneNumber: '+14155550123',
    message: 'Later',
    sendAt: '2035-01-01T00:00:00Z',
  });
  const webhook = await product.json<{ id: string }>('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/x' });
  const test = await product.json<{ eventId: string; deliveryId: string }>(
    'POST',
    `/v1/webhooks/${webhook.id}/test`,
  );
  const account = await product.json<{ id: string }>('POST', '/v1/accounts', {
    id: 'another',
    baseUrl: 'http://127.0.0.1:9/v1',
    apiKey: 'a-key-of-upstream',
  });
  const key = await product.json<{ id: string }>('POST', '/v1/api-keys', {
    account: 'default',
    name: 'A key',
    scopes: ['admin'],
  });
  const token = await product.json<{ id: string }>('POST', '/v1/tokens', { scopes: ['events:read'] });
  return {
    contacts: contacts[0]?.id ?? '',
    // Until a contact has the number, the conversation of the send has the number as its id.
    conversations: '+14155550123',
    sends: send.id,
    webhooks: webhook.id,
    events: test.eventId,
    deliveries: test.deliveryId,
    accounts: account.id,
    'api-keys': key.id,
    tokens: token.id,
  };
}

/** Sends one request and measures its time; {@link askAll} checks the reply against the OpenAPI document. */
async function ask(request: SampleRequest): Promise<Outcome> {
  const { method, path, body } = request;
  const began = performance.now();
  const reply = await fetch(`http://127.0.0.1:${product.gateway.port}${path}`, {
    method,
    headers: { 'X-API-Key': product.apiKey, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const ms = performance.now() - began;
  const { status, headers } = reply;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isStream) await reply.body?.cancel();
  return { request, status, ms, headers, body: isStream ? undefined : await reply.text() };
}

/** Sends all requests several times at once. */
async function askAll(): Promise<Outcome[]> {
  const all = Array.from({ length: AT_ONCE }, () => requests).flat();
  const outcomes = await Promise.all(all.map(ask));
  for (const { request, ...seen } of outcomes) product.api.expectReply({ ...request, ...seen });
  return outcomes;
}

/** Describes each outcome that is not the required 503 in time. */
function unexpectedIn(outcomes: readonly Outcome[]): string[] {
  return outcomes
    .filter((outcome) => !isUnavailable(outcome) || outcome.ms >= WITHIN_MS)
    .map(describeOutcome);
}

function isUnavailable({ status, headers, body = '{}' }: Outcome): boolean {
  const retryAfter = Number(headers.get('retry-after'));
  return status === 503 && retryAfter > 0 && (JSON.parse(body) as { code?: string }).code === 'unavailable';
}

function describeOutcome({ request, status, ms, body }: Outcome): string {
  return `${request.method} ${request.path}: ${status} after ${Math.round(ms)} ms ${body?.slice(0, 200) ?? ''}`;
}

async function untilAvailable(): Promise<void> {
  await eventually('reads and sends work again', async () => {
    const [read, stored] = [
      await product.call('GET', '/v1/sends'),
      await product.call('POST', '/v1/messages/send', { phoneNumber: '+14155550123', message: 'Again' }),
    ];
    return read.status === 200 && stored.status === 200;
  });
  expect(product.gateway.child.exitCode).toBeNull();
}

describe('every API operation returns 503 unavailable within 2 s while Redis does not respond, and works again afterwards without a restart,', () => {
  it('if the Redis process is suspended, even while earlier requests still hang', async () => {
    product.redis.server.kill('SIGSTOP');
    try {
      expect(unexpectedIn(await askAll())).toEqual([]);
      expect(unexpectedIn(await askAll())).toEqual([]);
    } finally {
      product.redis.server.kill('SIGCONT');
    }
    await untilAvailable();
  });

  it('if Redis is killed', async () => {
    product.redis.server.kill('SIGKILL');
    await product.redis.server.exited;
    expect(unexpectedIn(await askAll())).toEqual([]);
    await product.redis.server.restart();
    await untilAvailable();
  });

  it('if Redis pauses for 5 s', async () => {
    await redis.call('CLIENT', 'PAUSE', '5000', 'ALL');
    const paused = performance.now();
    expect(unexpectedIn(await askAll())).toEqual([]);
    // Requests that end before the pause ends.
    if (performance.now() - paused < 2_900) expect(unexpectedIn(await askAll())).toEqual([]);
    await untilAvailable();
  });
});

describe('while Redis is full,', () => {
  it('stored data can be read, operations that store data get 503 unavailable, and no failed operation is reported as done', async () => {
    await redis.config('SET', 'maxmemory', '1');
    const outcomes = await askAll();
    await redis.config('SET', 'maxmemory', '0');
    const slow = outcomes.filter(({ ms }) => ms >= WITHIN_MS);
    expect(slow.map(describeOutcome)).toEqual([]);
    const failed = outcomes.filter((outcome) => outcome.status >= 500 && !isUnavailable(outcome));
    expect(failed.map(describeOutcome)).toEqual([]);

    const reads = outcomes.filter(({ request }) => request.method === 'GET');
    const unread = reads.filter(({ status }) => status === 503).map(({ request }) => request.operationId);
    expect([...new Set(unread)].sort()).toEqual(NEED_ROOM_TO_READ);
    // An operation that creates data needs memory; one that removes data may not.
    const done = outcomes.filter(({ request, status }) => request.method !== 'GET' && status < 300);
    expect(
      [...new Set(done.map(({ request }) => request.operationId))].filter(
        (id) => !REMOVING_OPERATIONS.has(id),
      ),
    ).toEqual([]);
    // These operations succeed if they have nothing to do, and their replies say so.
    for (const { request, body = '' } of done) {
      if (request.operationId === 'replayWebhook') expect(JSON.parse(body)).toEqual({ count: 0 });
      if (request.operationId === 'resolveSends') expect(body).toContain('not_found');
    }
    await untilAvailable();
    for (const { path } of done.map(({ request }) => request).filter(({ method }) => method === 'DELETE')) {
      const shown = await product.call('GET', path);
      // No operation returns a single API key or token.
      const isNeverShown = /^\/v1\/(api-keys|tokens)\//.test(path);
      expect([path, shown.status]).toEqual([path, isNeverShown ? 405 : 404]);
    }
  });
});

/** Reads of upstream use the request budget, which is stored in Redis. */
const NEED_ROOM_TO_READ = ['getContact', 'listContacts', 'listMessages'];

/** Operations that remove data, and two that have nothing to do in this test. */
const REMOVING_OPERATIONS: ReadonlySet<string> = new Set([
  'deleteWebhook',
  'deleteApiKey',
  'deleteAccount',
  'deleteToken',
  'resolveSends',
  'replayWebhook',
]);
