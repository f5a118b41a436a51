import { describe, expect, it } from '@jest/globals';
import { eventToJson, type LoggedEvent } from '#events';
import { deliveryId, type DeliveryStatus, type ReplayScope } from '#webhooks';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const TERMS = { defaultConcurrency: 1_000, maxDeliveries: 1_000, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };

const on = new WithWebhookHarness({ hintsLost: true });
const { dispatched } = on;

async function subscribe(): Promise<string> {
  return (await on.harness.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/' })).endpoint.id;
}
/** Claims all due deliveries of an endpoint and settles them with a status. */
async function settleAll(
  endpointId: string,
  status: 'succeeded' | 'failed',
  attempt = ATTEMPT,
): Promise<void> {
  const claimed = await on.harness.deliveries.claim(ACCOUNT, endpointId, TERMS);
  if (claimed.kind === 'ended') throw new Error('ended');
  for (const delivery of claimed.deliveries) {
    const settlement = status === 'failed' ? ({ status, reason: 'x' } as const) : ({ status } as const);
    await on.harness.deliveries.settle(ACCOUNT, delivery, attempt, settlement);
  }
}
async function listed(endpointId: string, status?: DeliveryStatus): Promise<string[]> {
  const query = { limit: 1_000, ...(status === undefined ? {} : { status }) };
  const { deliveries } = await on.harness.deliveries.list(ACCOUNT, endpointId, query);
  return deliveries.map(({ eventId }) => eventId);
}
const ids = (events: readonly LoggedEvent[]): string[] => events.map(({ id }) => id);
const newestFirst = (events: readonly LoggedEvent[]): string[] => ids(events).reverse();
const replay = async (id: string, scope: ReplayScope, events: readonly LoggedEvent[]): Promise<number> =>
  (await on.harness.deliveries.replay(ACCOUNT, id, scope, events)).count;
/** Enables an endpoint in the store directly. */
async function enable(endpointId: string): Promise<void> {
  const key = `${on.harness.prefix}:{${ACCOUNT}}:webhooks`;
  const stored = JSON.parse((await on.harness.redis.hget(key, endpointId)) ?? '') as object;
  await on.harness.redis.hset(
    key,
    endpointId,
    JSON.stringify({ ...stored, enabled: true, disabledReason: null }),
  );
}

describe('the list of a webhook’s deliveries', () => {
  it('returns each delivery exactly once across all pages, newest first, and can be filtered by status', async () => {
    const [id, other] = [await subscribe(), await subscribe()];
    const first = await dispatched(3);
    await settleAll(id, 'failed');
    const second = await dispatched(2);
    await settleAll(id, 'succeeded');
    const third = await dispatched(2);
    expect(await listed(id)).toEqual(newestFirst([...first, ...second, ...third]));
    expect(await listed(id, 'failed')).toEqual(newestFirst(first));
    expect(await listed(id, 'succeeded')).toEqual(newestFirst(second));
    expect(await listed(id, 'pending')).toEqual(newestFirst(third));
    expect(await listed(other, 'pending')).toHaveLength(7);
    const pages: string[][] = [];
    for (let before: number | undefined, more = true; more;) {
      const query = { limit: 3, ...(before === undefined ? {} : { before }) };
      const page = await on.harness.deliveries.list(ACCOUNT, id, query);
      pages.push(page.deliveries.map(({ eventId }) => eventId));
      before = page.next;
      more = before !== undefined;
    }
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
    expect(pages.flat()).toEqual(newestFirst([...first, ...second, ...third]));
  });

  it('contains no missed deliveries if filtered by `failed`, and no failed deliveries if filtered by `missed`', async () => {
    const id = await subscribe();
    const failed = await dispatched(2);
    await settleAll(id, 'failed');
    const missed = await dispatched(2);
    const log = `${on.harness.prefix}:{${ACCOUNT}}:events`;
    await on.harness.redis.rename(log, `${log}:away`);
    await on.harness.deliveries.claim(ACCOUNT, id, TERMS);
    await on.harness.redis.rename(`${log}:away`, log);
    const more = await dispatched(1);
    await settleAll(id, 'failed');
    expect(await listed(id, 'failed')).toEqual(newestFirst([...failed, ...more]));
    expect(await listed(id, 'missed')).toEqual(newestFirst(missed));
    expect(await listed(id)).toHaveLength(5);
    const pages: string[][] = [];
    for (let before: number | undefined, next = true; next;) {
      const query = { status: 'missed', limit: 1, ...(before === undefined ? {} : { before }) } as const;
      const page = await on.harness.deliveries.list(ACCOUNT, id, query);
      pages.push(page.deliveries.map(({ eventId }) => eventId));
      before = page.next;
      next = before !== undefined;
    }
    expect(pages.flat()).toEqual(newestFirst(missed));
  });

  it('omits deliveries that retention removed, and is empty for a removed webhook', async () => {
    const id = await subscribe();
    await dispatched(3);
    await settleAll(id, 'failed');
    await on.harness.deliveries.trim(ACCOUNT, { maxAgeMs: 60_000, maxCount: 1 });
    expect(await listed(id)).toHaveLength(1);
    expect(await listed(id, 'failed')).toHaveLength(1);
    await dispatched(1);
    await on.harness.endpoints.remove(ACCOUNT, id);
    expect(await listed(id)).toEqual([]);
    expect(await on.harness.redis.keys(`${on.harness.prefix}:*endpoint*`)).toEqual([]);
  });
});

describe('a manual retry of a finished delivery', () => {
  it('makes the delivery due at once, restarts its retry schedule, and keeps the attempts already recorded', async () => {
    const id = await subscribe();
    const [event] = await dispatched(1);
    if (event === undefined) throw new Error('no event');
    const delivery = deliveryId(event.id, id);
    await settleAll(id, 'failed');
    expect(await on.harness.deliveries.retry(ACCOUNT, delivery)).toBe('retried');
    expect(await on.harness.deliveries.find(ACCOUNT, delivery)).toMatchObject({
      status: 'pending',
      reason: null,
      finishedAt: null,
      attempts: [ATTEMPT],
    });
    expect(await listed(id, 'pending')).toEqual([event.id]);
    expect(await listed(id, 'failed')).toEqual([]);
    // A retried delivery is pending, so retention does not trim it.
    expect(await on.harness.deliveries.trim(ACCOUNT, { maxAgeMs: -1_000, maxCount: 0 })).toBe(0);
    expect(await on.harness.deliveries.claim(ACCOUNT, id, TERMS)).toMatchObject({
      deliveries: [{ id: delivery, attempts: 0, body: eventToJson(event) }],
    });
  });

  it('keeps only the newest 100 recorded attempts', async () => {
    const id = await subscribe();
    const [event] = await dispatched(1);
    const delivery = deliveryId(event?.id ?? '', id);
    for (let n = 1; n <= 103; n++) {
      await settleAll(id, 'failed', { ...ATTEMPT, durationMs: n });
      await on.harness.deliveries.retry(ACCOUNT, delivery);
    }
    const { attempts = [] } = (await on.harness.deliveries.find(ACCOUNT, delivery)) ?? {};
    expect(attempts.map(({ durationMs }) => durationMs)).toEqual(
      Array.from({ length: 100 }, (_, n) => n + 4),
    );
  });

  it('is refused if the webhook is disabled, was removed, or never existed', async () => {
    const [disabled, removed] = [await subscribe(), await subscribe()];
    const [event] = await dispatched(1);
    await settleAll(disabled, 'failed');
    await settleAll(removed, 'failed');
    await on.harness.endpointStore.disable(ACCOUNT, disabled, 'x');
    await on.harness.endpoints.remove(ACCOUNT, removed);
    const retry = (endpointId: string): Promise<string> =>
      on.harness.deliveries.retry(ACCOUNT, deliveryId(event?.id ?? '', endpointId));
    expect([await retry(disabled), await retry(removed), await retry('whk_none')]).toEqual([
      'disabled',
      'removed',
      'unknown',
    ]);
  });
});

describe('the ranges of missed events of a webhook', () => {
  it('include the events from before the webhook was created', async () => {
    expect(await on.harness.deliveries.gaps(ACCOUNT, await subscribe())).toEqual([]);
    const events = await on.harness.record(2);
    const id = await subscribe();
    expect(await on.harness.deliveries.gaps(ACCOUNT, id)).toEqual([{ from: '0-0', to: events[1]?.position }]);
    expect(await replay(id, 'missed', [...events, ...(await on.harness.record(1))])).toBe(2);
    expect(await listed(id, 'pending')).toEqual(newestFirst(events));
  });

  it('are one range for each period in which the webhook was disabled', async () => {
    const id = await subscribe();
    const stretches = [];
    for (let n = 0; n < 2; n++) {
      await dispatched(2);
      await on.harness.endpointStore.disable(ACCOUNT, id, 'x');
      const missed = [...(await dispatched(2)), ...(await dispatched(1))];
      stretches.push({ from: missed[0]?.position, to: missed[2]?.position });
      await enable(id);
    }
    await dispatched(1);
    expect(await on.harness.deliveries.gaps(ACCOUNT, id)).toEqual(stretches);
  });

  it('are at most 100; above that, the oldest ranges are merged', async () => {
    const id = await subscribe();
    const missed: LoggedEvent[] = [];
    for (let n = 0; n < 102; n++) {
      await on.harness.endpointStore.disable(ACCOUNT, id, 'x');
      missed.push(...(await dispatched(1)));
      await enable(id);
      await dispatched(1);
    }
    const gaps = await on.harness.deliveries.gaps(ACCOUNT, id);
    expect(gaps).toHaveLength(100);
    expect(gaps[0]).toEqual({ from: missed[0]?.position, to: missed[2]?.position });
    expect(gaps[99]).toEqual({ from: missed[101]?.position, to: missed[101]?.position });
    expect(await replay(id, 'missed', missed)).toBe(102);
  });

  it('include deliveries that were pending when the webhook was disabled, which can be replayed once the webhook is enabled again', async () => {
    const id = await subscribe();
    await dispatched(2);
    await settleAll(id, 'failed');
    const pending = await dispatched(3);
    await on.harness.endpointStore.disable(ACCOUNT, id, 'x');
    await on.harness.deliveries.endPending(ACCOUNT, id);
    expect(await listed(id, 'failed')).toHaveLength(5);
    const { events } = await on.harness.log.read(ACCOUNT, undefined, 100);
    expect(await replay(id, 'missed', events)).toBe(0);
    await enable(id);
    expect(await replay(id, 'missed', events)).toBe(3);
    expect(await listed(id, 'pending')).toEqual(newestFirst(pending));
  });

  it('include deliveries that were pending or under way when the webhook was disabled, even if retention removed their records', async () => {
    const id = await subscribe();
    const done = await dispatched(2);
    await settleAll(id, 'succeeded');
    await dispatched(2);
    await settleAll(id, 'failed');
    const waiting = await dispatched(3);
    const claimed = await on.harness.deliveries.claim(ACCOUNT, id, { ...TERMS, maxDeliveries: 1 });
    const [underWay] = claimed.kind === 'claimed' ? claimed.deliveries : [];
    if (underWay === undefined) throw new Error('no delivery is under way');
    await on.harness.endpointStore.disable(ACCOUNT, id, 'x');
    await on.harness.deliveries.endPending(ACCOUNT, id);
    const missed = await dispatched(1);
    await on.harness.deliveries.settle(ACCOUNT, underWay, ATTEMPT, { status: 'failed', reason: 'x' });
    expect(await on.harness.deliveries.gaps(ACCOUNT, id)).toEqual([
      { from: waiting[0]?.position, to: missed[0]?.position },
    ]);
    await on.harness.deliveries.trim(ACCOUNT, { maxAgeMs: 0, maxCount: 0 });
    await enable(id);
    const later = await dispatched(1);
    expect(await replay(id, 'missed', [...done, ...waiting, ...missed, ...later])).toBe(4);
    expect(new Set(await listed(id, 'pending'))).toEqual(new Set(ids([...waiting, ...missed, ...later])));
  });
});

describe('a replay', () => {
  it('makes the requested deliveries pending, without duplicates: the failed ones, the missed ones, or all', async () => {
    const id = await subscribe();
    const failed = await dispatched(2);
    await settleAll(id, 'failed');
    const succeeded = await dispatched(3);
    await settleAll(id, 'succeeded');
    await on.harness.endpointStore.disable(ACCOUNT, id, 'x');
    const missed = await dispatched(4);
    await enable(id);
    const pending = await dispatched(1);
    const all = [...failed, ...succeeded, ...missed, ...pending];
    for (const [scope, count] of [
      ['failed', 2],
      ['missed', 4],
      ['all', 3],
    ] as const) {
      expect([scope, await replay(id, scope, all)]).toEqual([scope, count]);
      expect([scope, await replay(id, scope, all)]).toEqual([scope, 0]);
    }
    expect(new Set(await listed(id, 'pending'))).toEqual(new Set(ids(all)));
    const claimed = await on.harness.deliveries.claim(ACCOUNT, id, TERMS);
    expect(claimed).toMatchObject({ kind: 'claimed' });
    expect(claimed.kind === 'claimed' ? claimed.deliveries.length : 0).toBe(10);
  });
});
