import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { DeliveryStore } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { Receiver } from './receiver.js';
import { ACCOUNT, WebhookHarness } from './webhook-harness.js';

type Claimed = Extract<
  Awaited<ReturnType<DeliveryStore['claim']>>,
  { kind: 'claimed' }
>['deliveries'][number];

const SLOTS = 3;
const STEPS = [
  'create',
  'claim',
  'claim and vanish',
  'succeed',
  'retry',
  'fail',
  'release',
  'stale',
  'manual retry',
] as const;

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});

describe('the schedule of due webhooks', () => {
  it('contains each webhook with pending deliveries, and makes the webhook due no later than its next delivery', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...STEPS), { maxLength: 40 }),
        fc.boolean(),
        async (steps, ordered) => {
          const harness = await WebhookHarness.open(server.url);
          try {
            await walk(harness, steps, ordered);
          } finally {
            await harness.close();
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('ensures that every delivery finishes, even if processes crash after they claimed deliveries', async () => {
    const harness = await WebhookHarness.open(server.url);
    const receiver = await Receiver.start((_, count) => ({ status: count % 3 === 0 ? 500 : 204 }));
    try {
      const { endpoint } = await harness.endpoints.create(ACCOUNT, { url: receiver.url });
      const events = await harness.record(40);
      harness.jobs.lost = true;
      await harness.dispatcher.dispatch(ACCOUNT, events);
      // Each claim simulates a process that crashes before its attempts.
      for (let i = 0; i < 10; i++) {
        await harness.deliveries.claim(ACCOUNT, endpoint.id, {
          defaultConcurrency: 20,
          maxDeliveries: 3,
          leaseMs: 50,
        });
      }
      harness.jobs.lost = false;
      const runner = harness.startRunner([0, 0.02, 0.02, 0.02, 0.02, 0.02], { maxConcurrency: 5 });
      await eventually('no delivery is left', async () => {
        await runner.reconcile(ACCOUNT);
        return (await harness.redis.exists(`${harness.prefix}:{${ACCOUNT}}:webhooks:agenda`)) === 0;
      });
      const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
      expect(ids).toEqual(new Set(events.map(({ id }) => id)));
    } finally {
      await harness.close();
      await receiver.stop();
    }
  });
});

async function walk(
  harness: WebhookHarness,
  steps: readonly (typeof STEPS)[number][],
  ordered: boolean,
): Promise<void> {
  const { endpoint } = await harness.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/', ordered });
  const store = harness.deliveries;
  const held: Claimed[] = [];
  const attempt = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };
  const claim = async (leaseMs: number): Promise<Claimed[]> => {
    const claimed = await store.claim(ACCOUNT, endpoint.id, {
      defaultConcurrency: SLOTS,
      maxDeliveries: 2,
      leaseMs,
    });
    return claimed.kind === 'claimed' ? claimed.deliveries : [];
  };
  for (const step of steps) {
    if (step === 'create') {
      for (const contactId of ['c1', 'c2']) {
        await harness.dispatcher.dispatch(ACCOUNT, await harness.record(1, { contactId }));
      }
    }
    if (step === 'manual retry') {
      const { deliveries } = await store.list(ACCOUNT, endpoint.id, { limit: 50 });
      const finished = deliveries.filter(({ finishedAt }) => finishedAt !== null).at(-1);
      if (finished !== undefined) await store.retry(ACCOUNT, finished.id);
    }
    if (step === 'claim') held.push(...(await claim(60_000)));
    if (step === 'claim and vanish') await claim(0);
    const one = step.startsWith('c') ? undefined : held.shift();
    if (one !== undefined) {
      if (step === 'succeed') await store.settle(ACCOUNT, one, attempt, { status: 'succeeded' });
      if (step === 'retry') await store.settle(ACCOUNT, one, attempt, { status: 'pending', waitMs: 60_000 });
      if (step === 'fail') await store.settle(ACCOUNT, one, attempt, { status: 'failed', reason: 'x' });
      if (step === 'release') await store.release(ACCOUNT, one);
      if (step === 'stale') {
        const stale = { ...one, claimId: 'another' };
        expect((await store.settle(ACCOUNT, stale, attempt, { status: 'succeeded' })).isRecorded).toBe(false);
        held.push(one);
      }
    }
    await checkAgenda(harness, endpoint.id);
    if (ordered) await checkLanes(harness, endpoint.id);
  }
}

/** Checks that each pending delivery is in a lane, and that only the first of each lane is due or under way. */
async function checkLanes(harness: WebhookHarness, endpointId: string): Promise<void> {
  const key = (name: string): string => `${harness.prefix}:{${ACCOUNT}}:endpoint:${endpointId}:${name}`;
  const [due, underWay, places, pending] = await Promise.all([
    harness.redis.zrange(key('due'), '0', '-1'),
    harness.redis.zrange(key('inflight'), '0', '-1'),
    harness.redis.zrange(key('lanes'), '0', '-1'),
    harness.redis.zrange(key('deliveries:pending'), '0', '-1'),
  ]);
  const lanes = new Map<string, string[]>();
  for (const place of places) {
    const [lane = '', , , id = ''] = place.split(':');
    lanes.set(lane, [...(lanes.get(lane) ?? []), id]);
  }
  expect([...lanes.values()].flat().sort()).toEqual(pending.sort());
  expect(due.length + underWay.length).toBe(lanes.size);
  for (const lane of lanes.values()) {
    const started = lane.filter((id) => underWay.includes(id));
    const next = lane.filter((id) => due.includes(id));
    expect([...started, ...next]).toEqual(started.length > 0 ? started.slice(0, 1) : lane.slice(0, 1));
  }
}

async function checkAgenda(harness: WebhookHarness, endpointId: string): Promise<void> {
  const key = (name: string): string => `${harness.prefix}:{${ACCOUNT}}:${name}`;
  const [agenda, due, leases] = await Promise.all([
    harness.redis.zscore(key('webhooks:agenda'), endpointId),
    harness.redis.zrange(key(`endpoint:${endpointId}:due`), '0', '-1', 'WITHSCORES'),
    harness.redis.zrange(key(`endpoint:${endpointId}:inflight`), '0', '-1', 'WITHSCORES'),
  ]);
  expect(leases.length / 2).toBeLessThanOrEqual(SLOTS);
  if (due.length + leases.length === 0) {
    expect(agenda).toBeNull();
    return;
  }
  const mayGoOn = [
    ...(leases.length > 0 ? [Number(leases[1])] : []),
    ...(due.length > 0 && leases.length / 2 < SLOTS ? [Number(due[1])] : []),
  ];
  expect(agenda).not.toBeNull();
  expect(Number(agenda)).toBeLessThanOrEqual(Math.min(...mayGoOn));
}
