import { describe, expect, it } from '@jest/globals';
import {
  type DeliveryPage,
  type DeliveryQuery,
  deliveryId,
  HEALTH_OF_NEW_ENDPOINT,
  RedisEndpointHealth,
} from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const TERMS = { defaultConcurrency: 100, maxDeliveries: 100, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };

const on = new WithWebhookHarness();

async function endpoints(count: number, options: { ordered?: boolean } = {}): Promise<string[]> {
  const made: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const { endpoint } = await on.harness.endpoints.create(ACCOUNT, {
      url: 'http://127.0.0.1:9/',
      ...options,
    });
    made.push(endpoint.id);
  }
  return made;
}

/** Records events, creates their deliveries, and returns the ids of the events. */
async function dispatched(count: number): Promise<string[]> {
  const events = await on.harness.record(count);
  await on.harness.dispatcher.dispatch(ACCOUNT, events);
  return events.map(({ id }) => id);
}

/** Ends the due deliveries of an endpoint. */
async function settleAll(endpoint: string, status: 'succeeded' | 'failed'): Promise<void> {
  const claimed = await on.harness.deliveries.claim(ACCOUNT, endpoint, TERMS);
  if (claimed.kind === 'ended') throw new Error('the endpoint is not enabled');
  for (const delivery of claimed.deliveries)
    await on.harness.deliveries.settle(
      ACCOUNT,
      delivery,
      ATTEMPT,
      status === 'failed' ? { status, reason: 'it failed' } : { status },
    );
}

/** Reads all pages. */
async function listed(
  query: Omit<DeliveryQuery, 'limit'>,
  limit: number,
): Promise<DeliveryPage['deliveries']> {
  const all: DeliveryPage['deliveries'] = [];
  for (let before: number | undefined; ;) {
    const page = await on.harness.deliveries.listAll(ACCOUNT, {
      ...query,
      limit,
      ...(before === undefined ? {} : { before }),
    });
    expect(page.deliveries.length).toBeLessThanOrEqual(limit);
    all.push(...page.deliveries);
    if (page.next === undefined) return all;
    before = page.next;
  }
}

describe('the list of the deliveries of all webhooks', () => {
  it.each([1, 2, 7, 100])('contains each delivery once, newest first, in pages of %d', async (limit) => {
    const ids = await endpoints(3);
    const expected: string[] = [];
    for (const count of [2, 25, 1]) {
      const events = await dispatched(count);
      expected.push(...events.flatMap((event) => ids.map((endpoint) => deliveryId(event, endpoint))));
    }
    const found = await listed({}, limit);
    expect(found).toHaveLength(84);
    expect(found.map(({ id }) => id).sort()).toEqual(expected.sort());
    const times = found.map(({ createdAt }) => createdAt);
    expect(times).toEqual(times.toSorted().reverse());
  });

  it('can be filtered by status, and never contains deliveries of removed webhooks', async () => {
    const [good = '', bad = '', removed = ''] = await endpoints(3);
    await dispatched(3);
    await settleAll(good, 'succeeded');
    await settleAll(bad, 'failed');
    await on.harness.endpoints.remove(ACCOUNT, removed);
    await dispatched(1);
    const endpointsOf = async (status: NonNullable<DeliveryQuery['status']>): Promise<string[]> =>
      (await listed({ status }, 2)).map(({ endpointId }) => endpointId);
    expect(await endpointsOf('succeeded')).toEqual([good, good, good]);
    expect(await endpointsOf('failed')).toEqual([bad, bad, bad]);
    expect((await endpointsOf('pending')).sort()).toEqual([good, bad].sort());
    expect(await listed({}, 100)).toHaveLength(8);
  });

  it('can be filtered by the time at which a delivery finished, even if the delivery was created earlier', async () => {
    const [endpoint = ''] = await endpoints(1);
    await dispatched(2);
    await settleAll(endpoint, 'failed');
    const [late] = await dispatched(1);
    const created = (await listed({ status: 'pending' }, 10))[0]?.createdAt ?? '';
    // The late delivery finishes in a later millisecond than it was created.
    const since = Date.parse(created) + 1;
    await eventually('the time has passed', () => Date.now() > since);
    expect(await listed({ since }, 10)).toEqual([]);
    await settleAll(endpoint, 'failed');
    const found = await listed({ since, status: 'failed' }, 10);
    expect(found.map(({ eventId }) => eventId)).toEqual([late]);
    expect(await listed({ since: 0 }, 10)).toHaveLength(3);
  });
});

describe('the list of the deliveries of one event', () => {
  it.each([1, 2, 100])(
    'contains its delivery to each webhook once, newest first, in pages of %d',
    async (limit) => {
      const ids = await endpoints(5);
      const [, event = ''] = await dispatched(3);
      const removed = ids.pop() ?? '';
      await on.harness.endpoints.remove(ACCOUNT, removed);
      const found = await listed({ eventId: event }, limit);
      expect(found.map(({ eventId, endpointId }) => [eventId, endpointId]).sort()).toEqual(
        ids.map((id) => [event, id]).sort(),
      );
      const all = (await listed({}, 100)).filter(({ eventId }) => eventId === event);
      expect(found).toEqual(all);
      expect(await listed({ eventId: 'evt_unknown' }, limit)).toEqual([]);
    },
  );

  it('can be filtered by webhook, status and time', async () => {
    const [good = '', bad = '', late = ''] = await endpoints(3);
    const [event = ''] = await dispatched(1);
    await settleAll(good, 'succeeded');
    await settleAll(bad, 'failed');
    const endpointsOf = async (query: Omit<DeliveryQuery, 'limit'>): Promise<string[]> =>
      (await listed({ eventId: event, ...query }, 1)).map(({ endpointId }) => endpointId);
    expect(await endpointsOf({ status: 'succeeded' })).toEqual([good]);
    expect(await endpointsOf({ status: 'failed' })).toEqual([bad]);
    expect(await endpointsOf({ status: 'missed' })).toEqual([]);
    expect(await endpointsOf({ status: 'pending' })).toEqual([late]);
    expect(await endpointsOf({ since: Date.now() + 60_000 })).toEqual([]);
    expect(await endpointsOf({ since: 1 })).toHaveLength(3);
    const ofOne = await on.harness.deliveries.list(ACCOUNT, good, { eventId: event, limit: 10 });
    expect(ofOne.deliveries.map(({ id }) => id)).toEqual([deliveryId(event, good)]);
  });

  it('is empty for an account without webhooks', async () => {
    expect(await listed({ eventId: 'evt_1' }, 10)).toEqual([]);
  });
});

describe('a pending delivery of an ordered webhook', () => {
  it('names the delivery that must finish first, until that delivery has finished', async () => {
    const [endpoint = ''] = await endpoints(1, { ordered: true });
    const [first = '', second = ''] = (await dispatched(2)).map((event) => deliveryId(event, endpoint));
    const blockerOf = async (id: string): Promise<string | null | undefined> =>
      (await on.harness.deliveries.find(ACCOUNT, id))?.blockedBy;
    expect([await blockerOf(first), await blockerOf(second)]).toEqual([null, first]);
    await settleAll(endpoint, 'succeeded');
    expect([await blockerOf(first), await blockerOf(second)]).toEqual([null, null]);
  });
});

describe('the health of a webhook', () => {
  it('shows since when it fails, when it last succeeded, and how many deliveries are pending', async () => {
    const [endpoint = '', untouched = ''] = await endpoints(2);
    const health = new RedisEndpointHealth(on.harness.redis, on.harness.prefix);
    const read = async (): Promise<unknown> => (await health.read(ACCOUNT, [endpoint]))[0];
    expect(await read()).toEqual(HEALTH_OF_NEW_ENDPOINT);
    await dispatched(2);
    expect(await read()).toEqual({ ...HEALTH_OF_NEW_ENDPOINT, pending: 2 });
    await settleAll(endpoint, 'failed');
    const since = expect.stringMatching(/^20.*Z$/) as unknown;
    expect(await read()).toEqual({ ...HEALTH_OF_NEW_ENDPOINT, failingSince: since });
    await dispatched(1);
    await settleAll(endpoint, 'succeeded');
    expect(await read()).toEqual({ ...HEALTH_OF_NEW_ENDPOINT, lastSuccessAt: since });
    // The ids decide the order of the result.
    const [first, second] = await health.read(ACCOUNT, [untouched, endpoint]);
    expect([first?.pending, second?.pending]).toEqual([3, 0]);
    expect(await health.read(ACCOUNT, [])).toEqual([]);
  });
});
