import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '#events';
import { createLogger } from '#platform';
import { type Delivery, deliveryId, SingleEventDeliverer, type RequestedDelivery } from '#webhooks';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const TERMS = { defaultConcurrency: 100, maxDeliveries: 100, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };

const on = new WithWebhookHarness({ hintsLost: true });
const silent = createLogger('test', 'silent');

async function subscribe(options: object = {}): Promise<string> {
  return (await on.harness.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/', ...options })).endpoint.id;
}
function deliver(endpointId: string, event: LoggedEvent | undefined): Promise<RequestedDelivery> {
  const { endpointStore, deliveries, log, jobs } = on.harness;
  const requested = new SingleEventDeliverer(endpointStore, deliveries, log, jobs, silent);
  return requested.deliver(ACCOUNT, endpointId, event?.id ?? 'evt_none');
}
async function claimed(endpointId: string): Promise<string[]> {
  const result = await on.harness.deliveries.claim(ACCOUNT, endpointId, TERMS);
  return result.kind === 'ended' ? [] : result.deliveries.map(({ eventId }) => eventId);
}
async function settle(
  endpointId: string,
  settlement: { status: 'succeeded' } | { status: 'pending'; waitMs: number },
): Promise<void> {
  const result = await on.harness.deliveries.claim(ACCOUNT, endpointId, TERMS);
  if (result.kind === 'ended') throw new Error('the endpoint is not enabled');
  for (const delivery of result.deliveries)
    await on.harness.deliveries.settle(ACCOUNT, delivery, ATTEMPT, settlement);
}
const find = (event: LoggedEvent | undefined, endpointId: string): Promise<Delivery | undefined> =>
  on.harness.deliveries.find(ACCOUNT, deliveryId(event?.id ?? '', endpointId));

describe('a request to deliver one event to one webhook', () => {
  it('creates a delivery of an event that the webhook never got, even if the filter of the webhook excludes the event', async () => {
    const [event] = await on.harness.record(1);
    const id = await subscribe({ eventTypes: ['send.*'], contactIds: ['c9'] });
    expect(await deliver(id, event)).toEqual({ kind: 'due', delivery: await find(event, id) });
    expect(await find(event, id)).toMatchObject({ eventId: event?.id, status: 'pending', contactId: 'c1' });
    expect(on.harness.jobs.hints.at(-1)).toEqual({ endpointIds: [id], delayMs: 0 });
    expect(await claimed(id)).toEqual([event?.id]);
  });

  it('creates a delivery that the dispatcher does not create again', async () => {
    const events = await on.harness.record(2);
    const id = await subscribe();
    await deliver(id, events[0]);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    const all = await on.harness.deliveries.list(ACCOUNT, id, { limit: 10 });
    expect(all.deliveries.map(({ eventId }) => eventId)).toEqual([events[1]?.id, events[0]?.id]);
  });

  it('restarts a finished delivery, and keeps the recorded attempts of the delivery', async () => {
    const id = await subscribe();
    const [event] = await on.dispatched(1);
    await settle(id, { status: 'succeeded' });
    const requested = await deliver(id, event);
    expect(requested).toMatchObject({ kind: 'due', delivery: { status: 'pending', attempts: [ATTEMPT] } });
    expect(await claimed(id)).toEqual([event?.id]);
  });

  it('makes a pending delivery due now; a second request causes no second attempt', async () => {
    const id = await subscribe();
    const [event] = await on.dispatched(1);
    await settle(id, { status: 'pending', waitMs: 60_000 });
    expect(await claimed(id)).toEqual([]);
    expect(await deliver(id, event)).toMatchObject({ kind: 'due', delivery: { status: 'pending' } });
    expect(await deliver(id, event)).toMatchObject({ kind: 'due' });
    expect(await claimed(id)).toEqual([event?.id]);
    // The request during an attempt changes nothing.
    expect(await deliver(id, event)).toMatchObject({ kind: 'due', delivery: { nextAttemptAt: null } });
    expect(await claimed(id)).toEqual([]);
  });

  it('creates a delivery that waits for the earlier pending events of the contact, if the webhook is ordered', async () => {
    const [early, late] = await on.dispatched(2);
    const id = await subscribe({ ordered: true });
    await deliver(id, late);
    await deliver(id, early);
    const first = deliveryId(early?.id ?? '', id);
    expect(await find(late, id)).toMatchObject({ blockedBy: first });
    expect(await claimed(id)).toEqual([early?.id]);
  });

  it('is refused for an event that is not dispatched yet if the webhook is ordered, because an earlier event of the contact would be delivered after it', async () => {
    const id = await subscribe({ ordered: true });
    await on.dispatched(1);
    const [early, late] = await on.harness.record(2);
    await expect(deliver(id, late)).rejects.toThrow(/ordered, and this or an earlier event/);
    await on.harness.dispatcher.dispatch(
      ACCOUNT,
      [early, late].flatMap((event) => event ?? []),
    );
    expect(await deliver(id, late)).toMatchObject({ kind: 'due' });
    expect(await find(late, id)).toMatchObject({ blockedBy: expect.stringMatching(/^dlv_/) });
  });

  it('is refused for an event that waits for room in the backlog of an ordered webhook, and for every later event', async () => {
    const ids = [await subscribe({ ordered: true }), await subscribe()];
    const backlogs = ids.map((id) => `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:deliveries:pending`);
    const members = Array.from({ length: 20_000 }, (_, i) => [i, `dlv_${i}`]);
    for (const backlog of backlogs)
      for (let i = 0; i < members.length; i += 1_000)
        await on.harness.redis.zadd(backlog, ...members.slice(i, i + 1_000).flat());
    const waiting = await on.dispatched(2);
    const [undispatched] = await on.harness.record(1);
    for (const backlog of backlogs) await on.harness.redis.zremrangebyrank(backlog, 0, 999);
    const [ordered = '', other = ''] = ids;
    for (const event of [...waiting, undispatched])
      await expect(deliver(ordered, event)).rejects.toThrow(/ordered, and this or an earlier event/);
    expect(await deliver(other, waiting[1])).toMatchObject({ kind: 'due' });
    expect(await find(undispatched, ordered)).toBeUndefined();
  });

  it('is refused if the webhook is disabled; its result says if the webhook or the event does not exist', async () => {
    const [event] = await on.harness.record(1);
    const id = await subscribe({ enabled: false });
    await expect(deliver(id, event)).rejects.toThrow(/disabled.*PATCH it with/);
    expect(await deliver(id, undefined)).toEqual({ kind: 'unknownEvent' });
    expect(await deliver('whk_none', event)).toEqual({ kind: 'unknownEndpoint' });
    if (event === undefined) throw new Error('no event');
    const delivery = { endpointId: id, event };
    expect(await on.harness.deliveries.deliverNow(ACCOUNT, delivery)).toBe('disabled');
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: true });
    await on.harness.redis.xdel(`${on.harness.prefix}:{${ACCOUNT}}:events`, delivery.event.position);
    expect(await on.harness.deliveries.deliverNow(ACCOUNT, delivery)).toBe('lost');
    await on.harness.endpoints.remove(ACCOUNT, id);
    expect(await on.harness.deliveries.deliverNow(ACCOUNT, delivery)).toBe('removed');
    expect(await find(event, id)).toBeUndefined();
  });

  it('is refused while the webhook has the maximum number of pending deliveries, and so is the retry of a delivery', async () => {
    const [event] = await on.harness.record(1);
    const id = await subscribe();
    const [finished] = await on.dispatched(1);
    await settle(id, { status: 'succeeded' });
    const retry = (): Promise<string> =>
      on.harness.deliveries.retry(ACCOUNT, deliveryId(finished?.id ?? '', id));
    const pending = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:deliveries:pending`;
    const members = Array.from({ length: 20_000 }, (_, i) => [i, `dlv_${i}`]);
    for (let i = 0; i < members.length; i += 1_000)
      await on.harness.redis.zadd(pending, ...members.slice(i, i + 1_000).flat());
    await expect(deliver(id, event)).rejects.toThrow(/maximum number of pending deliveries/);
    expect(await retry()).toBe('full');
    await on.harness.redis.zrem(pending, 'dlv_1', 'dlv_2');
    expect(await deliver(id, event)).toMatchObject({ kind: 'due' });
    expect(await retry()).toBe('retried');
  });
});
