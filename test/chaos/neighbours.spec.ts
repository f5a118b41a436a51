import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { Tenant } from '../support/tenant.js';

const SENDS = 20;
/** Far more than an account has slots in a worker. */
const BACKLOG = 300;
/** An account's slots for sends in a worker. */
const SLOTS = 32;
/** In trouble next door a send may take so many times as long as without, and so much more for a busy machine. */
const MOST_TIMES = 2;
const NOISE_MS = 500;

interface Times {
  /** Until its POST began. */
  relayed: number;
  /** Until its message was told. */
  told: number;
}

let product: Product;
let neighbour: Tenant;
let quiet: Times;

beforeAll(async () => {
  product = await Product.start({ UPSTREAM_TIMEOUT_MS: '5000' });
  neighbour = await Tenant.start(product, 'neighbour', { requestsPerSecond: 200 });
  // The first sends make contacts; those that are measured find them.
  await measure();
  quiet = await measure();
});
afterAll(async () => {
  await product[Symbol.asyncDispose]();
  await neighbour[Symbol.asyncDispose]();
});

const numbered = (first: string, i: number): string => `${first}${String(i).padStart(4, '0')}`;

/** Of the slowest but one of some sends of the account `default`, in milliseconds, all by Redis' clock. */
async function measure(): Promise<Times> {
  const ids = await Promise.all(
    Array.from({ length: SENDS }, async (_, i) => {
      const send = { phoneNumber: numbered('+1555100', i), message: `to be measured ${Math.random()}` };
      return (await product.json<{ id: string }>('POST', '/v1/messages/send', send)).id;
    }),
  );
  const told = new Map<string, number>();
  await eventually('all are told', async () => {
    let after = '';
    for (let more = true; more;) {
      const path = `/v1/events?types=message.sent&limit=100${after === '' ? '' : `&after=${after}`}`;
      const page = await product.json<{
        events: { timestamp: string; data: { sendId?: string } }[];
        next: string;
        hasMore: boolean;
      }>('GET', path);
      for (const { timestamp, data } of page.events) told.set(data.sendId ?? '', Date.parse(timestamp));
      [after, more] = [page.next, page.hasMore];
    }
    return ids.every((id) => told.has(id));
  });
  const times: Times[] = [];
  for (const id of ids) {
    const { createdAt, attempts } = await product.json<{ createdAt: string; attempts: { at: string }[] }>(
      'GET',
      `/v1/sends/${id}`,
    );
    const begun = Date.parse(createdAt);
    times.push({
      relayed: Date.parse(attempts[0]?.at ?? '') - begun,
      told: (told.get(id) ?? Infinity) - begun,
    });
  }
  const slowest = (part: keyof Times): number =>
    times.map((all) => all[part]).sort((a, b) => b - a)[1] ?? Infinity;
  return { relayed: slowest('relayed'), told: slowest('told') };
}

/** How many requests the neighbour's upstream got since it was last asked. */
async function requestsNextDoor(): Promise<number> {
  const { entries } = await neighbour.simulate<{ entries: unknown[] }>('ledger', { kind: 'request' });
  return entries.length;
}

async function neighbourKeys(): Promise<string[]> {
  const redis = new Redis(product.redis.url);
  try {
    return await redis.keys('tidings:{neighbour}:*');
  } finally {
    redis.disconnect();
  }
}

describe('an account whose neighbour', () => {
  it.each([
    ['hangs', [{ fault: 'timeoutBefore', times: 'always' }]],
    ['answers 500', [{ fault: { kind: 'status', status: 500 }, times: 'always' }]],
    ['is not let in', [{ fault: { kind: 'status', status: 401 }, times: 'always' }]],
    ['is told that it is too much', [{ fault: { kind: 'status', status: 429 }, times: 'always' }]],
    ['is slow', [{ fault: { kind: 'slow', delayMs: 4_000 }, times: 'always' }]],
  ])(
    '%s, with a long backlog, has its sends relayed and told as fast as without',
    async (trouble, faults) => {
      await neighbour.simulate('faults/clear');
      for (const fault of faults) await neighbour.simulate('faults', fault);
      for (let i = 0; i < BACKLOG; i += 20) {
        await Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            neighbour.json('POST', '/v1/messages/send', {
              phoneNumber: numbered('+1555200', i + n),
              message: `next door ${Math.random()}`,
            }),
          ),
        );
      }
      await eventually('the trouble is under way', async () => {
        const { sends, upstream } = await neighbour.json<{
          sends: { counts: Record<string, number> };
          upstream: { state: string };
        }>('GET', '/v1/status');
        const relaying = sends.counts['relaying'] ?? 0;
        // One that is slow is never away: it takes all that it can get.
        return trouble === 'is slow' ? relaying >= SLOTS : relaying > 0 || upstream.state === 'down';
      });
      const beside = await measure();
      console.log(
        `The neighbour ${trouble}: relayed after ${beside.relayed} ms (${quiet.relayed} without), ` +
          `told after ${beside.told} ms (${quiet.told})`,
      );
      expect(beside.relayed).toBeLessThanOrEqual(quiet.relayed * MOST_TIMES + NOISE_MS);
      expect(beside.told).toBeLessThanOrEqual(quiet.told * MOST_TIMES + NOISE_MS);
    },
  );

  it('is told that it is too much keeps its own budget whole', async () => {
    await neighbour.simulate('faults/clear');
    await neighbour.simulate('faults', { fault: { kind: 'status', status: 429 }, times: 'always' });
    const redis = new Redis(product.redis.url);
    try {
      const isShrunk = async (account: string): Promise<boolean> =>
        (await redis.hexists(`tidings:{${account}}:budget`, 'limit')) === 1;
      await eventually("the neighbour's is shrunk", () => isShrunk('neighbour'));
      expect(await isShrunk('default')).toBe(false);
    } finally {
      redis.disconnect();
    }
  });

  it('is removed goes on, and nothing of the neighbour is left, whatever was in flight', async () => {
    await neighbour.simulate('faults/clear');
    await neighbour.simulate('faults', { fault: { kind: 'slow', delayMs: 2_000 }, times: 'always' });
    await eventually('a request is under way', async () => (await requestsNextDoor()) > 0);
    expect((await product.call('DELETE', '/v1/accounts/neighbour')).status).toBe(204);
    expect((await neighbour.call('GET', '/v1/contacts')).status).toBe(401);
    await product.worker.stop('SIGKILL');
    await product.startWorker();
    await eventually('its data is gone', async () => (await neighbourKeys()).length === 0);
    expect((await measure()).relayed).toBeLessThanOrEqual(quiet.relayed * MOST_TIMES + NOISE_MS);
    expect(await neighbourKeys()).toEqual([]);
  });
});
