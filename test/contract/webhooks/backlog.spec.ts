import { describe, expect, it } from '@jest/globals';
import { eventToJson, type LoggedEvent } from '#events';
import { Backlog, type DeliveryStore, deliveryId, type NewEndpoint } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from './street.js';
import { WithStreet } from './with-street.js';

type Claimed = Extract<Awaited<ReturnType<DeliveryStore['claim']>>, { kind: 'claimed' }>;

const TERMS = { slots: 1_000, room: 1_000, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };
/** What is pending at an endpoint that never worked is no more. */
const MOST_AT_DEAD = 500;
const LATER_MS = 600_000;

const on = new WithStreet({ hintsLost: true });
const { dispatched } = on;

async function subscribe(wish: Partial<NewEndpoint> = {}): Promise<string> {
  return (await on.street.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/', ...wish })).endpoint.id;
}
async function claim(id: string, terms: Partial<typeof TERMS> = {}): Promise<Claimed> {
  const claimed = await on.street.deliveries.claim(ACCOUNT, id, { ...TERMS, ...terms });
  if (claimed.kind === 'ended') throw new Error('ended');
  return claimed;
}
async function settle({ deliveries }: Claimed, how: 'succeeded' | 'fails'): Promise<void> {
  for (const delivery of deliveries) {
    await on.street.deliveries.settle(
      ACCOUNT,
      delivery,
      ATTEMPT,
      how === 'succeeded' ? { status: 'succeeded' } : { status: 'pending', waitMs: LATER_MS },
    );
  }
}
/** Has one succeed; which. */
async function succeedOne(id: string): Promise<string | undefined> {
  const claimed = await claim(id, { room: 1 });
  await settle(claimed, 'succeeded');
  return claimed.deliveries[0]?.eventId;
}
async function pending(id: string): Promise<string[]> {
  const query = { status: 'pending', limit: 30_000 } as const;
  const { deliveries } = await on.street.deliveries.list(ACCOUNT, id, query);
  return deliveries.map(({ eventId }) => eventId).reverse();
}
const ids = (events: readonly LoggedEvent[]): string[] => events.map(({ id }) => id);
const refill = (id: string): Promise<void> => {
  const { endpointStore, deliveries, log } = on.street;
  return new Backlog(endpointStore, deliveries, log).refill(ACCOUNT, id);
};
const keyOf = (id: string, name: string): string => `${on.street.prefix}:{${ACCOUNT}}:endpoint:${id}:${name}`;
/** As if it had not been looked whether something else would succeed for long. */
const probeNow = (id: string): Promise<number> => on.street.redis.hdel(keyOf(id, 'backlog'), 'probedAt');
/** As if all of the log had been dispatched, and retention let go all but so many. */
async function trimLog(maxCount: number): Promise<void> {
  const counters = `${on.street.prefix}:{${ACCOUNT}}:events:counters`;
  await on.street.redis.hset(counters, 'dispatched', (await on.street.log.end(ACCOUNT)).position);
  await on.street.log.trim(ACCOUNT, { maxAgeMs: 3_600_000, maxCount });
}

describe('a delivery', () => {
  it('has no body of its own: it is read from the log with each claim, the same bytes each time', async () => {
    const id = await subscribe();
    const [event] = await dispatched(1);
    if (event === undefined) throw new Error('no event');
    const delivery = deliveryId(event.id, id);
    const key = `${on.street.prefix}:{${ACCOUNT}}:delivery:${delivery}`;
    expect(Object.keys(await on.street.redis.hgetall(key))).not.toContain('body');
    for (let attempts = 0; attempts < 2; attempts += 1) {
      const claimed = await claim(id);
      expect(claimed.deliveries).toMatchObject([{ id: delivery, attempts, body: eventToJson(event) }]);
      await settle(claimed, 'fails');
      expect(await on.street.deliveries.retry(ACCOUNT, delivery)).toBe('retried');
    }
  });

  it('whose event the log has lost when its turn comes is missed, and the next has its turn', async () => {
    const id = await subscribe({ ordered: true });
    const events = await dispatched(3);
    await trimLog(1);
    const claimed = await claim(id);
    expect([claimed.deliveries, claimed.missed, claimed.more]).toEqual([[], 1, true]);
    await claim(id);
    expect((await claim(id)).deliveries).toMatchObject([{ eventId: events[2]?.id }]);
    const lost = deliveryId(events[0]?.id ?? '', id);
    expect(await on.street.deliveries.find(ACCOUNT, lost)).toMatchObject({
      status: 'missed',
      reason: 'The event was no longer kept when its turn came.',
    });
    expect(await on.street.deliveries.retry(ACCOUNT, lost)).toBe('lost');
  });

  it('that was missed is replayed where the log has its event again', async () => {
    const id = await subscribe();
    const [event] = await dispatched(1);
    if (event === undefined) throw new Error('no event');
    const log = `${on.street.prefix}:{${ACCOUNT}}:events`;
    await on.street.redis.rename(log, `${log}:away`);
    expect((await claim(id)).missed).toBe(1);
    await on.street.redis.rename(`${log}:away`, log);
    const again = [{ endpointId: id, event }];
    expect(await on.street.deliveries.replay(ACCOUNT, 'missed', again)).toBe(1);
    expect((await claim(id)).deliveries).toMatchObject([{ body: eventToJson(event) }]);
  });
});

describe('the backlog of an endpoint that does not work', () => {
  it('has a bound, and what is above it is missed and can be replayed', async () => {
    const id = await subscribe();
    const events = [...(await dispatched(MOST_AT_DEAD - 10)), ...(await dispatched(30))];
    expect(await pending(id)).toEqual(ids(events.slice(0, MOST_AT_DEAD)));
    const gap = { from: events[MOST_AT_DEAD]?.position, to: events.at(-1)?.position };
    expect(await on.street.deliveries.gaps(ACCOUNT, id)).toEqual([gap]);
    const all = events.map((event) => ({ endpointId: id, event }));
    expect(await on.street.deliveries.replay(ACCOUNT, 'missed', all)).toBe(20);
    expect(await pending(id)).toEqual(ids(events));
  });

  it('is not widened by a test, which somebody waits for', async () => {
    const id = await subscribe();
    await dispatched(MOST_AT_DEAD + 1);
    const [test] = await on.street.record(1, {
      type: 'webhook.test',
      contactId: '',
      data: { webhookId: id },
    });
    await on.street.dispatcher.dispatch(ACCOUNT, test === undefined ? [] : [test]);
    expect(await pending(id)).toContain(test?.id);
  });

  it('is filled again from the log after the first success, in its order, each once', async () => {
    const id = await subscribe();
    const events = await dispatched(MOST_AT_DEAD + 700);
    await refill(id);
    const done = await succeedOne(id);
    const rest = ids(events).filter((event) => event !== done);
    // While it is behind nothing overtakes.
    const newest = await dispatched(2);
    expect(await pending(id)).toEqual(rest.slice(0, MOST_AT_DEAD));
    expect((await claim(id, { room: 1 })).canRefill).toBe(true);
    await Promise.all([refill(id), refill(id)]);
    expect(await pending(id)).toEqual([...rest, ...ids(newest)]);
    expect(await on.street.deliveries.gaps(ACCOUNT, id)).toEqual([]);
    const [after] = await dispatched(1);
    expect((await pending(id)).at(-1)).toBe(after?.id);
  });

  it('holds only what the endpoint asks for', async () => {
    const id = await subscribe({ contactIds: ['c1'] });
    const wanted: LoggedEvent[] = [];
    for (let n = 0; n < 7; n += 1) {
      wanted.push(...(await dispatched(100)));
      await on.street.dispatcher.dispatch(ACCOUNT, await on.street.record(100, { contactId: 'c2' }));
    }
    const done = await succeedOne(id);
    await refill(id);
    expect(await pending(id)).toEqual(ids(wanted).filter((event) => event !== done));
  });

  it('passes over what the log has lost meanwhile', async () => {
    const id = await subscribe();
    const events = await dispatched(MOST_AT_DEAD + 300);
    await trimLog(100);
    expect((await claim(id)).missed).toBe(MOST_AT_DEAD);
    await refill(id);
    expect(await pending(id)).toEqual(ids(events.slice(-100)));
    expect(await on.street.deliveries.gaps(ACCOUNT, id)).toEqual([]);
  });

  it('lets one through from time to time, as it may be that only what is pending fails', async () => {
    const id = await subscribe();
    const events = await dispatched(MOST_AT_DEAD + 10);
    await settle(await claim(id), 'fails');
    await refill(id);
    await refill(id);
    expect(await pending(id)).toEqual(ids(events.slice(0, MOST_AT_DEAD + 1)));
    const agenda = Number(
      await on.street.redis.zscore(`${on.street.prefix}:{${ACCOUNT}}:webhooks:agenda`, id),
    );
    expect(agenda).toBeLessThan(Date.now() + 25_000);
    await probeNow(id);
    await refill(id);
    expect(await pending(id)).toEqual(ids(events.slice(0, MOST_AT_DEAD + 2)));
    // What was let through succeeds: the rest follows.
    await settle(await claim(id), 'succeeded');
    await refill(id);
    expect((await pending(id)).slice(-8)).toEqual(ids(events.slice(-8)));
  });

  it('is small again after a minute of nothing but failures, and was not before', async () => {
    const id = await subscribe();
    await dispatched(1);
    await settle(await claim(id), 'succeeded');
    await dispatched(MOST_AT_DEAD + 10);
    expect(await pending(id)).toHaveLength(MOST_AT_DEAD + 10);
    await settle(await claim(id, { room: 1 }), 'fails');
    await dispatched(1);
    expect(await pending(id)).toHaveLength(MOST_AT_DEAD + 11);
    await on.street.redis.hset(keyOf(id, 'speed'), 'failingSince', Date.now() - 61_000);
    await dispatched(1);
    expect(await pending(id)).toHaveLength(MOST_AT_DEAD + 11);
  });

  it('that is disabled was missed, what is behind included', async () => {
    const id = await subscribe();
    const events = await dispatched(MOST_AT_DEAD + 10);
    await on.street.endpoints.change(ACCOUNT, id, { enabled: false });
    const meanwhile = await dispatched(5);
    await on.street.endpoints.change(ACCOUNT, id, { enabled: true });
    await refill(id);
    expect(await pending(id)).toEqual([]);
    const all = [...events, ...meanwhile].map((event) => ({ endpointId: id, event }));
    expect(await on.street.deliveries.replay(ACCOUNT, 'missed', all)).toBe(all.length);
  });

  it('reaches a receiver that is back whole and, where that was asked for, in order', async () => {
    let isBack = false;
    const to = await on.receiver(() => ({ status: isBack ? 204 : 500 }));
    const id = await subscribe({ url: to.url, ordered: true });
    on.street.jobs.lost = false;
    const pump = on.street.pump([0.05, 0.05, ...Array.from({ length: 200 }, () => 0.2)]);
    const events = await dispatched(MOST_AT_DEAD + 400);
    await eventually('it was tried', () => to.received.length > 2);
    isBack = true;
    const from = to.received.length;
    await eventually('all arrived', async () => {
      await pump.reconcile(ACCOUNT);
      return (await pending(id)).length === 0 && (await on.street.deliveries.gaps(ACCOUNT, id)).length === 0;
    });
    const arrived = to.received.slice(from).map(({ headers }) => headers['webhook-id']);
    expect([...new Set(arrived)]).toEqual(ids(events));
  });
});
