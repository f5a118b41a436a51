import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';
import { Tenant } from '../support/tenant.js';

const SENDS = 20;
/** Number of waiting sends of the neighbour. Far more than its concurrency slots in a worker. */
const BACKLOG = 300;
/** Maximum number of concurrent sends of one account in a worker. */
const SLOTS = 32;
/**
 * Maximum slowdown of a send while the neighbour has problems: a factor, and a constant for a busy machine.
 */
const MAX_FACTOR = 2;
const NOISE_MS = 500;
/** Time within which another pass of the removal of an account's data runs, in milliseconds. */
const LATER_PASS_MS = 60_000;

interface Latencies {
  /** Time until the POST of a send started, in milliseconds. */
  relayed: number;
  /** Time until the event of the message, in milliseconds. */
  emitted: number;
}

let product: Product;
let neighbour: Tenant;
let baseline: Latencies;

beforeAll(async () => {
  // The look-ups of one case end before the next case begins.
  product = await Product.start({ UPSTREAM_TIMEOUT_MS: '5000', SEND_CONFIRM_MS: '5000' });
  neighbour = await Tenant.start(product, 'neighbour', { requestsPerSecond: 200 });
  // The first sends create the contacts. The measured sends find existing contacts.
  await measure();
  baseline = await measure();
});
afterAll(async () => {
  await product[Symbol.asyncDispose]();
  await neighbour[Symbol.asyncDispose]();
});

const numbered = (first: string, i: number): string => `${first}${String(i).padStart(4, '0')}`;

/**
 * Sends messages as the account `default`. Returns the second-longest latencies in milliseconds, measured by
 * Redis' clock.
 */
async function measure(): Promise<Latencies> {
  const ids = await Promise.all(
    Array.from({ length: SENDS }, async (_, i) => {
      const send = { phoneNumber: numbered('+1555100', i), message: `to be measured ${Math.random()}` };
      return (await product.json<{ id: string }>('POST', '/v1/messages/send', send)).id;
    }),
  );
  const emitted = new Map<string, number>();
  await eventually('all messages are reported', async () => {
    let after = '';
    for (let more = true; more;) {
      const path = `/v1/events?types=message.sent&limit=100${after === '' ? '' : `&after=${after}`}`;
      const page = await product.json<{
        events: { timestamp: string; data: { sendId?: string } }[];
        next: string;
        hasMore: boolean;
      }>('GET', path);
      for (const { timestamp, data } of page.events) emitted.set(data.sendId ?? '', Date.parse(timestamp));
      [after, more] = [page.next, page.hasMore];
    }
    return ids.every((id) => emitted.has(id));
  });
  const times: Latencies[] = [];
  for (const id of ids) {
    const { createdAt, attempts } = await product.json<{ createdAt: string; attempts: { at: string }[] }>(
      'GET',
      `/v1/sends/${id}`,
    );
    const begun = Date.parse(createdAt);
    times.push({
      relayed: Date.parse(attempts[0]?.at ?? '') - begun,
      emitted: (emitted.get(id) ?? Infinity) - begun,
    });
  }
  const slowest = (part: keyof Latencies): number =>
    times.map((all) => all[part]).sort((a, b) => b - a)[1] ?? Infinity;
  return { relayed: slowest('relayed'), emitted: slowest('emitted') };
}

/** Returns the number of requests that the neighbour's upstream has received. */
async function neighbourRequests(): Promise<number> {
  const { entries } = await neighbour.simulate<{ entries: unknown[] }>('ledger', { kind: 'request' });
  return entries.length;
}

/** Returns the number of the neighbour's sends that are being relayed, and the state of its upstream. */
async function neighbourStatus(): Promise<{ relaying: number; state: string }> {
  const { sends, upstream } = await neighbour.json<{
    sends: { counts: Record<string, number> };
    upstream: { state: string };
  }>('GET', '/v1/status');
  return { relaying: sends.counts['relaying'] ?? 0, state: upstream.state };
}

async function neighbourKeys(): Promise<string[]> {
  const redis = new Redis(product.redis.url);
  try {
    return await redis.keys('tidings:{neighbour}:*');
  } finally {
    redis.disconnect();
  }
}

describe('the account `default` beside another account of the installation', () => {
  it.each([
    ['has an upstream that hangs', [{ fault: 'timeoutBefore', times: 'always' }]],
    ['has an upstream that returns 500', [{ fault: { kind: 'status', status: 500 }, times: 'always' }]],
    ['has an upstream that returns 401', [{ fault: { kind: 'status', status: 401 }, times: 'always' }]],
    ['has an upstream that returns 429', [{ fault: { kind: 'status', status: 429 }, times: 'always' }]],
    ['has a slow upstream', [{ fault: { kind: 'slow', delayMs: 4_000 }, times: 'always' }]],
  ])(
    'relays sends and emits events without long delays while the other account %s and has many queued sends',
    async (problem, faults) => {
      await neighbour.simulate('faults/clear');
      // The problems of the case before must not count as those of this case.
      await eventually('the neighbour has recovered', async () => {
        const { relaying, state } = await neighbourStatus();
        return relaying === 0 && state === 'up';
      });
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
      await eventually('the neighbour has problems', async () => {
        const { relaying, state } = await neighbourStatus();
        // A slow upstream is never marked as down: it uses all concurrency slots.
        return problem === 'has a slow upstream' ? relaying >= SLOTS : relaying > 0 || state === 'down';
      });
      const beside = await measure();
      console.log(
        `The neighbour ${problem}: relayed after ${beside.relayed} ms (${baseline.relayed} without), ` +
          `emitted after ${beside.emitted} ms (${baseline.emitted})`,
      );
      expect(beside.relayed).toBeLessThanOrEqual(baseline.relayed * MAX_FACTOR + NOISE_MS);
      expect(beside.emitted).toBeLessThanOrEqual(baseline.emitted * MAX_FACTOR + NOISE_MS);
    },
  );

  it('keeps its full request budget while the upstream of the other account returns 429', async () => {
    await neighbour.simulate('faults/clear');
    await neighbour.simulate('faults', { fault: { kind: 'status', status: 429 }, times: 'always' });
    const redis = new Redis(product.redis.url);
    try {
      const isReduced = async (account: string): Promise<boolean> =>
        (await redis.hexists(`tidings:{${account}}:budget`, 'limit')) === 1;
      await eventually('the budget of the neighbour is reduced', () => isReduced('neighbour'));
      expect(await isReduced('default')).toBe(false);
    } finally {
      redis.disconnect();
    }
  });

  it('continues to relay sends after the other account is removed, and no data of the removed account remains', async () => {
    await neighbour.simulate('faults/clear');
    await neighbour.simulate('faults', { fault: { kind: 'slow', delayMs: 2_000 }, times: 'always' });
    const before = await neighbourRequests();
    await eventually('a slow request is in flight', async () => (await neighbourRequests()) > before);
    expect(await neighbourKeys()).not.toEqual([]);
    expect((await product.call('DELETE', '/v1/accounts/neighbour')).status).toBe(204);
    expect((await neighbour.call('GET', '/v1/contacts')).status).toBe(401);
    await product.worker.stop('SIGKILL');
    await product.startWorker();
    await eventually(
      'the data of the neighbour is removed',
      async () => (await neighbourKeys()).length === 0,
    );
    expect((await measure()).relayed).toBeLessThanOrEqual(baseline.relayed * MAX_FACTOR + NOISE_MS);
    // What was in flight at the removal, for example the counts of a gateway, may have been written meanwhile. A later
    // pass removes it.
    await eventually(
      'everything that was written later is removed too',
      async () => (await neighbourKeys()).length === 0,
      LATER_PASS_MS,
    );
  });
});
