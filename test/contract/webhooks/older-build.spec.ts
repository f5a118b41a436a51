import { describe, expect, it } from '@jest/globals';
import { eventToJson, type LoggedEvent } from '#events';
import { type DeliveryStore, deliveryId } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { OlderBuild } from './older-build/index.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

type ClaimedDelivery = Extract<
  Awaited<ReturnType<DeliveryStore['claim']>>,
  { kind: 'claimed' }
>['deliveries'][number];

const TERMS = { defaultConcurrency: 20, maxDeliveries: 50, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };

const on = new WithWebhookHarness({ hintsLost: true });
const older = (): OlderBuild => new OlderBuild(on.harness.redis, on.harness.prefix, ACCOUNT);

async function subscribe(url = 'http://127.0.0.1:9/', ordered = false): Promise<string> {
  return (await on.harness.endpoints.create(ACCOUNT, { url, ordered })).endpoint.id;
}
async function claim(id: string): Promise<ClaimedDelivery[]> {
  const claimed = await on.harness.deliveries.claim(ACCOUNT, id, TERMS);
  if (claimed.kind === 'ended') throw new Error('ended');
  return claimed.deliveries;
}
const succeed = (delivery: ClaimedDelivery): Promise<unknown> =>
  on.harness.deliveries.settle(ACCOUNT, delivery, ATTEMPT, { status: 'succeeded' });
const first = <T>(of: readonly T[]): T => {
  const [one] = of;
  if (one === undefined) throw new Error('There is none.');
  return one;
};
const eventIds = (of: readonly { eventId: string }[]): string[] => of.map(({ eventId }) => eventId);
const ids = (events: readonly LoggedEvent[]): string[] => events.map(({ id }) => id);

describe('a delivery that an older build of Tidings stored', () => {
  it('is sent with its stored body, even if the event log no longer has the event', async () => {
    const to = await on.receiver();
    const id = await subscribe(to.url);
    const events = await on.harness.record(2);
    await older().create(id, events);
    await on.harness.redis.del(`${on.harness.prefix}:{${ACCOUNT}}:events`);
    on.harness.jobs.lost = false;
    await on.harness.startRunner().reconcile(ACCOUNT);
    await eventually('both events arrive', () => to.received.length === 2);
    expect(to.received.map(({ body }) => body).sort()).toEqual(events.map(eventToJson).sort());
  });

  it('keeps its position among the deliveries of an ordered webhook, and the webhook keeps the stored time of its first failure', async () => {
    const id = await subscribe(undefined, true);
    const [one, two, three] = await on.harness.record(3);
    const build = older();
    await build.create(id, one === undefined || two === undefined ? [] : [one, two]);
    const pace = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:pace`;
    await on.harness.redis.hset(pace, 'failingSince', 17);
    await on.harness.dispatcher.dispatch(ACCOUNT, three === undefined ? [] : [three]);
    const order: string[] = [];
    for (let next = await claim(id); next.length > 0; next = await claim(id)) {
      order.push(...eventIds(next));
      const { failingMs } = await on.harness.deliveries.settle(ACCOUNT, first(next), ATTEMPT, {
        status: 'failed',
        reason: 'x',
      });
      expect(failingMs).toBeGreaterThan(1_000_000_000);
    }
    expect(order).toEqual([one?.id, two?.id, three?.id]);
  });
});

describe('an older build of Tidings that runs beside the current build', () => {
  it('does not claim deliveries of the current build (they have no stored body), even in repeated claims and after a failed attempt', async () => {
    const id = await subscribe();
    const build = older();
    const [mine, ...yours] = await on.harness.record(31);
    await build.create(id, mine === undefined ? [] : [mine]);
    const before = first(await build.claim(id));
    await on.harness.dispatcher.dispatch(ACCOUNT, yours);
    expect(await build.claim(id)).toEqual([]);
    expect(await build.settle(id, before, 'pending', true)).toBe(true);
    expect(await build.claim(id)).toEqual([]);
    expect(eventIds(await claim(id))).toHaveLength(20);
    expect(await build.claim(id)).toEqual([]);
  });

  it('does not claim deliveries of the current build (they have no stored body), even after the older build has made a successful delivery', async () => {
    const id = await subscribe();
    const build = older();
    const [mine, ...yours] = await on.harness.record(25);
    await build.create(id, mine === undefined ? [] : [mine]);
    const before = first(await build.claim(id));
    await on.harness.dispatcher.dispatch(ACCOUNT, yours);
    expect(await build.settle(id, before, 'succeeded')).toBe(true);
    for (let n = 0; n < 3; n += 1) expect(await build.claim(id)).toEqual([]);
    const claimed = await claim(id);
    for (const delivery of claimed) await succeed(delivery);
    expect(new Set(eventIds([...claimed, ...(await claim(id))]))).toEqual(new Set(ids(yours)));
  });

  it('does not take over deliveries that the current build claimed, even after their leases expire', async () => {
    const id = await subscribe();
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(1));
    await on.harness.deliveries.claim(ACCOUNT, id, { ...TERMS, leaseMs: 1 });
    await eventually('the lease has expired', async () => {
      expect(await older().claim(id)).toEqual([]);
      return (await claim(id)).length === 1;
    });
  });

  it('may use up a wake-up job: the periodic check of the current build finds the due delivery anyway', async () => {
    const to = await on.receiver();
    const id = await subscribe(to.url);
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(1));
    expect(await older().claim(id)).toEqual([]);
    on.harness.jobs.lost = false;
    await on.harness.startRunner().reconcile(ACCOUNT);
    await eventually('the event arrives', () => to.received.length === 1);
  });

  it('can create deliveries of an ordered webhook: the current build sends the deliveries of both builds in order', async () => {
    const id = await subscribe(undefined, true);
    const [one, two, three] = await on.harness.record(3);
    await on.harness.dispatcher.dispatch(ACCOUNT, one === undefined ? [] : [one]);
    await older().create(id, two === undefined ? [] : [two]);
    await on.harness.dispatcher.dispatch(ACCOUNT, three === undefined ? [] : [three]);
    const order: string[] = [];
    for (let next = await claim(id); next.length > 0; next = await claim(id)) {
      order.push(...eventIds(next));
      expect(await older().claim(id)).toEqual([]);
      await succeed(first(next));
    }
    expect(order).toEqual([one?.id, two?.id, three?.id]);
  });

  it('ends the pending deliveries of a disabled webhook, and the current build can replay them', async () => {
    const id = await subscribe();
    const events = await on.harness.record(3);
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    await on.harness.endpointStore.disable(ACCOUNT, id, 'x');
    expect(await older().endPending(id)).toBe(3);
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: true });
    expect((await on.harness.deliveries.replay(ACCOUNT, id, 'missed', events)).count).toBe(3);
    expect(await on.harness.deliveries.find(ACCOUNT, deliveryId(events[0]?.id ?? '', id))).toMatchObject({
      status: 'pending',
    });
  });
});
