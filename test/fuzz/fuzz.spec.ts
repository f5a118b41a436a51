import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { INSPECTABLE, liveHeapOf } from '../support/heap.js';
import { Product } from '../support/product.js';
import { mayGoUnanswered, type RawReply, type RawRequest, sendRaw } from './raw-http.js';
import { requestsFor } from './requests.js';

/** Number of requests. The seed and path of an earlier run repeat that run. */
const COUNT = Number(process.env.TIDINGS_FUZZ_COUNT ?? (process.env.TIDINGS_LONG === '1' ? 20_000 : 2_000));
const SEED = Number(process.env.TIDINGS_FUZZ_SEED ?? Date.now() % 2 ** 31);
const PATH = process.env.TIDINGS_FUZZ_PATH;
const AT_ONCE = 8;
/** Number of rejected requests that are repeated to find what they leave behind. */
const KEPT = 1_000;

let product: Product;
let redis: Redis;

beforeAll(async () => {
  product = await Product.start({
    ...INSPECTABLE,
    RATE_LIMIT_PER_MINUTE: '100000000',
    UPSTREAM_REQUESTS_PER_SECOND: '10000',
  });
  redis = new Redis(product.redis.url);
});

afterAll(async () => {
  redis.disconnect();
  await product[Symbol.asyncDispose]();
});

/** Creates one object of each kind, and returns their ids. */
async function createOneOfEach(): Promise<string[]> {
  const { contacts } = await product.simulate<{ contacts: { id: string }[] }>('contacts', {
    phoneNumber: '+14155550199',
  });
  const send = await product.json<{ id: string }>('POST', '/v1/messages/send', {
    phoneNumber: '+14155550123',
    message: 'Hello',
    sendAt: '2035-01-01T00:00:00Z',
  });
  const webhook = await product.json<{ id: string }>('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/x' });
  const test = await product.json<{ eventId: string; deliveryId: string }>(
    'POST',
    `/v1/webhooks/${webhook.id}/test`,
  );
  return [
    send.id,
    webhook.id,
    test.eventId,
    test.deliveryId,
    contacts[0]?.id ?? 'none',
    'default',
    'environment',
  ];
}

function isRefused({ status }: RawReply): boolean {
  return status >= 400;
}

function expectSane({ method, target }: RawRequest, reply: RawReply): void {
  const { status, headers, body } = reply;
  if (status < 100 || status > 599) throw new Error(`undocumented status ${status}`);
  // No dependency is down, so a 503 is a fault.
  if (status >= 500) throw new Error(`answered ${status}: ${body ?? ''}`);
  if (status >= 400 && method !== 'HEAD') {
    const type = headers.get('content-type') ?? '';
    if (!type.startsWith('application/problem+json'))
      throw new Error(`answered ${status} as ${type}: ${body ?? ''}`);
    const fault = product.api.validationError(['components', 'schemas', 'Problem'], JSON.parse(body ?? ''));
    if (fault !== undefined) throw new Error(`invalid problem document: ${fault}`);
  }
  product.api.expectReply({ method, path: target, status, headers, body });
}

/** Redis keys without an expiry. */
async function lastingKeys(): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const keys of redis.scanStream({ count: 1_000 })) {
    for (const key of keys as string[]) if ((await redis.ttl(key)) === -1) found.add(key);
  }
  return found;
}

async function usedMemory(): Promise<number> {
  const [, bytes] = /used_memory:(\d+)/.exec(await redis.info('memory')) ?? [];
  return Number(bytes);
}

describe('random requests to any URL', () => {
  it('get documented responses and no 5xx status, neither crash the gateway nor leak its memory, and leave no data in Redis if rejected', async () => {
    const input = { check: product.api, key: product.apiKey, ids: await createOneOfEach() };
    const refused: RawRequest[] = [];
    const statuses = new Map<number | 'none', number>();
    let sent = 0;
    let quarter: number | undefined;
    const one = async (request: RawRequest): Promise<void> => {
      const reply = await sendRaw(product.gateway.port, request);
      sent++;
      const status = reply?.status ?? 'none';
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (reply === undefined) {
        if (!mayGoUnanswered(request)) throw new Error('the connection was closed without a response');
        return;
      }
      expectSane(request, reply);
      if (isRefused(reply) && refused.length < KEPT && request.body.length < 10_000) refused.push(request);
    };
    // Prints the seed before the run, so that the run can be repeated even if it is killed.
    process.stdout.write(`fuzz: ${COUNT} requests, TIDINGS_FUZZ_SEED=${SEED}\n`);
    await fc.assert(
      fc.asyncProperty(
        fc.array(requestsFor(input), { minLength: AT_ONCE, maxLength: AT_ONCE, size: 'max' }),
        async (requests) => {
          await Promise.all(requests.map(one));
          if (sent >= COUNT / 4) quarter ??= await liveHeapOf(product.gateway);
        },
      ),
      {
        numRuns: Math.ceil(COUNT / AT_ONCE),
        seed: SEED,
        ...(PATH === undefined ? {} : { path: PATH }),
        // Limits the run, including the time in which fast-check simplifies a failure.
        interruptAfterTimeLimit: 1_500_000,
        markInterruptAsFailure: true,
      },
    );
    // With a path, fast-check repeats one failure only: too few requests to compare the memory.
    if (PATH !== undefined) return;
    const whole = await liveHeapOf(product.gateway);
    const seen = [...statuses].sort().map(([status, count]) => `${status}: ${count}`);
    process.stdout.write(`fuzz: ${seen.join(', ')}; heap ${quarter} at a quarter, ${whole} at the end\n`);
    expect(whole).toBeLessThan((quarter ?? 0) * 1.2 + 2_000_000);

    // Rejected requests must leave no data. The first round creates what is created once, such as loaded scripts.
    expect(await product.worker.stop()).toBe(0);
    for (const request of refused) await one(request);
    const [keys, memory] = [await lastingKeys(), await usedMemory()];
    for (const request of refused) await one(request);
    expect([...(await lastingKeys())].filter((key) => !keys.has(key))).toEqual([]);
    expect((await usedMemory()) - memory).toBeLessThan(500_000);

    const trouble = product.gateway
      .output()
      .split('\n')
      .filter((line) => /"level":(50|60)|unhandled|uncaught/i.test(line));
    expect(trouble).toEqual([]);
    const { exitCode, signalCode } = product.gateway.child;
    expect([exitCode, signalCode]).toEqual([null, null]);
    expect(sent).toBeGreaterThanOrEqual(COUNT);
  }, 1_800_000);
});
