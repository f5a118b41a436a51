import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type DeliveryStore, RedisDeliveryStore } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { Receiver } from './receiver.js';
import { ACCOUNT, Street } from './street.js';

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
  'again',
] as const;

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});

describe('the agenda', () => {
  it('names every endpoint with something pending, no later than when it can go on, whatever happened', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...STEPS), { maxLength: 40 }),
        fc.boolean(),
        async (steps, ordered) => {
          const street = await Street.open(server.url);
          try {
            await walk(street, steps, ordered);
          } finally {
            await street.close();
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('brings everything to its end, however often processes vanish', async () => {
    const street = await Street.open(server.url);
    const receiver = await Receiver.start((_, count) => ({ status: count % 3 === 0 ? 500 : 204 }));
    try {
      const { endpoint } = await street.endpoints.create(ACCOUNT, { url: receiver.url });
      const events = await street.record(40);
      street.jobs.lost = true;
      await street.dispatcher.dispatch(ACCOUNT, events);
      // Each of these claims and is never heard of again.
      for (let i = 0; i < 10; i++) {
        await street.deliveries.claim(ACCOUNT, endpoint.id, { slots: 20, room: 3, leaseMs: 50 });
      }
      street.jobs.lost = false;
      const pump = street.pump([0, 0.02, 0.02, 0.02, 0.02, 0.02], { maxConcurrency: 5 });
      await eventually('nothing left', async () => {
        await pump.reconcile(ACCOUNT);
        return (await street.redis.exists(`${street.prefix}:{${ACCOUNT}}:webhooks:agenda`)) === 0;
      });
      const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
      expect(ids).toEqual(new Set(events.map(({ id }) => id)));
    } finally {
      await street.close();
      await receiver.stop();
    }
  });
});

async function walk(
  street: Street,
  steps: readonly (typeof STEPS)[number][],
  ordered: boolean,
): Promise<void> {
  const { endpoint } = await street.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/', ordered });
  const store = new RedisDeliveryStore(street.redis, street.prefix);
  const held: Claimed[] = [];
  const attempt = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };
  const claim = async (leaseMs: number): Promise<Claimed[]> => {
    const claimed = await store.claim(ACCOUNT, endpoint.id, { slots: SLOTS, room: 2, leaseMs });
    return claimed.kind === 'claimed' ? claimed.deliveries : [];
  };
  for (const step of steps) {
    if (step === 'create') {
      for (const contactId of ['c1', 'c2']) {
        await street.dispatcher.dispatch(ACCOUNT, await street.record(1, { contactId }));
      }
    }
    if (step === 'again') {
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
        const stale = { ...one, claim: 'another' };
        expect((await store.settle(ACCOUNT, stale, attempt, { status: 'succeeded' })).recorded).toBe(false);
        held.push(one);
      }
    }
    await checkAgenda(street, endpoint.id);
    if (ordered) await checkLanes(street, endpoint.id);
  }
}

/** Whatever is pending is in a lane; of each, one is due or under way, and what is due is the first. */
async function checkLanes(street: Street, endpointId: string): Promise<void> {
  const key = (name: string): string => `${street.prefix}:{${ACCOUNT}}:endpoint:${endpointId}:${name}`;
  const [due, underWay, places, pending] = await Promise.all([
    street.redis.zrange(key('due'), '0', '-1'),
    street.redis.zrange(key('inflight'), '0', '-1'),
    street.redis.zrange(key('lanes'), '0', '-1'),
    street.redis.zrange(key('deliveries:pending'), '0', '-1'),
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

async function checkAgenda(street: Street, endpointId: string): Promise<void> {
  const key = (name: string): string => `${street.prefix}:{${ACCOUNT}}:${name}`;
  const [agenda, due, leases] = await Promise.all([
    street.redis.zscore(key('webhooks:agenda'), endpointId),
    street.redis.zrange(key(`endpoint:${endpointId}:due`), '0', '-1', 'WITHSCORES'),
    street.redis.zrange(key(`endpoint:${endpointId}:inflight`), '0', '-1', 'WITHSCORES'),
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
