import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '#events';
import { createLogger } from '#platform';
import {
  deliveryId,
  type DeliveryStore,
  EventReplayer,
  type ReplayRequest,
  ReplayTooLargeError,
} from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const URL_OF_MINE = 'http://127.0.0.1:9/';
const ALWAYS = { since: 0, until: Infinity };

const on = new WithWebhookHarness({ hintsLost: true });

const silent = createLogger('test', 'silent');
const replays = (mostEvents?: number): EventReplayer =>
  new EventReplayer(
    on.harness.endpointStore,
    on.harness.deliveries,
    on.harness.log,
    on.harness.jobs,
    silent,
    mostEvents,
  );
async function subscribe(filter: object = {}): Promise<string> {
  return (await on.harness.endpoints.create(ACCOUNT, { url: URL_OF_MINE, ...filter })).endpoint.id;
}
const replay = (id: string, request: Partial<ReplayRequest>): Promise<number | undefined> =>
  replays().start(ACCOUNT, id, { ...ALWAYS, scope: 'missed', ...request });
async function pending(id: string): Promise<string[]> {
  const found = await on.harness.deliveries.list(ACCOUNT, id, { status: 'pending', limit: 2_000 });
  return found.deliveries.map(({ eventId }) => eventId).reverse();
}
/** All data of the account in Redis, byte by byte. */
async function stored(): Promise<Map<string, string>> {
  const names = (await on.harness.redis.keys(`${on.harness.prefix}:*`)).sort();
  const dumps = names.map(async (name): Promise<[string, string]> => {
    const dump = (await on.harness.redis.callBuffer('DUMP', name)) as Buffer | null;
    return [name, dump?.toString('base64') ?? ''];
  });
  return new Map(await Promise.all(dumps));
}
const ids = (events: readonly LoggedEvent[]): string[] => events.map(({ id }) => id);
const timeOf = (event: LoggedEvent | undefined): number => Date.parse(event?.timestamp ?? '');

/** Records events, each in a different millisecond. */
async function apart(count: number): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  while (events.length < count) {
    events.push(...(await on.harness.record(1)));
    await eventually('the next millisecond', () => Date.now() > timeOf(events.at(-1)) + 1);
  }
  return events;
}

describe('a replay', () => {
  it('ends at the first event for which the backlog has no room, even if there is room again later', async () => {
    const events = await on.harness.record(1_201);
    await on.harness.markDispatched();
    const id = await subscribe({ ordered: true });
    const { deliveries, endpointStore, log, jobs, redis, prefix } = on.harness;
    const backlog = `${prefix}:{${ACCOUNT}}:endpoint:${id}:deliveries:pending`;
    await redis.zadd(backlog, ...Array.from({ length: 19_990 }, (_, n) => [n, `other-${n}`]).flat());
    const makingRoom: Pick<DeliveryStore, 'replay' | 'countReplay'> = {
      replay: async (...request) => {
        const step = await deliveries.replay(...request);
        await redis.zremrangebyrank(backlog, 0, 99);
        return step;
      },
      countReplay: (...request) => deliveries.countReplay(...request),
    };
    const replayer = new EventReplayer(endpointStore, makingRoom, log, jobs, silent);
    const request = { ...ALWAYS, scope: 'missed' } as const;
    expect(await replayer.count(ACCOUNT, id, request)).toBe(10);
    expect(await replayer.start(ACCOUNT, id, request)).toBe(10);
    const [last, next] = events.slice(9).map((event) => deliveryId(event.id, id));
    expect(await deliveries.find(ACCOUNT, last ?? '')).toMatchObject({ status: 'pending' });
    expect(await deliveries.find(ACCOUNT, next ?? '')).toBeUndefined();
  });

  it('leaves out the events that wait for room in the backlog of an ordered webhook, and all events after them, even if these were not dispatched yet', async () => {
    const id = await subscribe({ ordered: true });
    const backlog = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:deliveries:pending`;
    const members = Array.from({ length: 20_000 }, (_, i) => [i, `dlv_${i}`]);
    for (let i = 0; i < members.length; i += 1_000)
      await on.harness.redis.zadd(backlog, ...members.slice(i, i + 1_000).flat());
    const [early] = await on.harness.record(1);
    await on.dispatched(2);
    await on.harness.record(1);
    await on.harness.redis.zremrangebyrank(backlog, 0, 999);
    const request = { ...ALWAYS, scope: 'all' } as const;
    expect(await replays().count(ACCOUNT, id, request)).toBe(1);
    expect(await replays().start(ACCOUNT, id, request)).toBe(1);
    expect(await on.harness.deliveries.find(ACCOUNT, deliveryId(early?.id ?? '', id))).toBeDefined();
  });

  it('sends each event that is older than the webhook exactly once, even if these events fill several pages of the log', async () => {
    const before = await on.harness.record(1_201);
    const id = await subscribe();
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(2));
    expect(await replay(id, {})).toBe(1_201);
    expect((await pending(id)).slice(2)).toEqual(ids(before));
    expect(await replay(id, {})).toBe(0);
    expect(on.harness.jobs.hints.at(-1)).toEqual({ endpointIds: [id], delayMs: 0 });
  });

  it('sends the events from `since` (inclusive) to `until` (exclusive)', async () => {
    const events = await apart(5);
    const id = await subscribe();
    expect(await replay(id, { since: timeOf(events[1]), until: timeOf(events[3]) })).toBe(2);
    expect(await pending(id)).toEqual(ids(events.slice(1, 3)));
    expect(await replay(id, { since: timeOf(events[4]) + 60_000 })).toBe(0);
    expect(await replay(id, { since: timeOf(events[3]) })).toBe(2);
    expect(await replay(id, { until: timeOf(events[1]) })).toBe(1);
  });

  it("sends all events before `until` even if Redis' clock was ahead and then set back", async () => {
    const { redis, prefix } = on.harness;
    const ahead = Date.now() + 3_600_000;
    await on.harness.record(1);
    // Positions never go back, so the log goes on from the time at which the clock was ahead.
    const entry = { i: 'evt_1', t: 'message.received', c: 'c1', s: '2', at: String(ahead), d: '{}' };
    await redis.xadd(`${prefix}:{${ACCOUNT}}:events`, `${ahead}-0`, ...Object.entries(entry).flat());
    await on.harness.record(1_200);
    const id = await subscribe();
    const request = { ...ALWAYS, until: Date.now() + 600_000, scope: 'missed' } as const;
    expect(await replays().count(ACCOUNT, id, request)).toBe(1_201);
    expect(await replays().start(ACCOUNT, id, request)).toBe(1_201);
  });

  it('sends only events that match both the webhook’s filter and the requested types', async () => {
    const [wanted] = await on.harness.record(1);
    await on.harness.record(1, { contactId: 'c2' });
    const [read] = await on.harness.record(1, { type: 'message.read' });
    await on.harness.record(1, { type: 'contact.updated' });
    await on.harness.record(1, { type: 'webhook.test', data: { webhookId: 'whk_other' } });
    const id = await subscribe({ eventTypes: ['message.*'], contactIds: ['c1'] });
    expect(await replay(id, { eventTypes: ['message.received'] })).toBe(1);
    expect(await pending(id)).toEqual([wanted?.id]);
    expect(await replay(id, { eventTypes: ['contact.*'] })).toBe(0);
    expect(await replay(id, {})).toBe(1);
    expect(await pending(id)).toEqual([wanted?.id, read?.id]);
  });

  it.each(['failed', 'missed', 'pending', 'all'] as const)(
    'of %s deliveries makes as many deliveries due as its dry run returns, and the dry run changes no stored data',
    async (scope) => {
      await on.harness.record(450);
      const id = await subscribe();
      await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(20));
      const { deliveries } = on.harness;
      const claimed = await deliveries.claim(ACCOUNT, id, {
        ...{ defaultConcurrency: 100, maxDeliveries: 12, leaseMs: 60_000 },
      });
      if (claimed.kind === 'ended') throw new Error('the endpoint is not enabled');
      const attempt = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };
      for (const [i, delivery] of claimed.deliveries.entries()) {
        const later = { status: 'pending' as const, waitMs: 60_000 };
        const settlement =
          i < 3
            ? later
            : i < 7
              ? { status: 'failed' as const, reason: '' }
              : { status: 'succeeded' as const };
        await deliveries.settle(ACCOUNT, delivery, attempt, settlement);
      }
      const before = await stored();
      const counted = await replays().count(ACCOUNT, id, { ...ALWAYS, scope });
      expect(await stored()).toEqual(before);
      expect(counted).toBe({ failed: 4, missed: 450, pending: 3, all: 459 }[scope]);
      expect(await replay(id, { scope })).toBe(counted);
    },
  );

  it('replays no more events than the backlog has room for, and a dry run of the replay returns the same number', async () => {
    const id = await subscribe();
    const listed = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${id}:deliveries:pending`;
    const members = Array.from({ length: 19_750 }, (_, i) => [i, `dlv_${i}`]);
    for (let i = 0; i < members.length; i += 1_000)
      await on.harness.redis.zadd(listed, ...members.slice(i, i + 1_000).flat());
    await on.harness.record(600);
    expect(await replays().count(ACCOUNT, id, { ...ALWAYS, scope: 'all' })).toBe(250);
    expect(await replay(id, { scope: 'all' })).toBe(250);
  });

  it('of too many events is refused without any delivery, and the error names a time window that is small enough', async () => {
    const events = await apart(8);
    const id = await subscribe();
    const request = { ...ALWAYS, scope: 'missed' as const };
    const refused = await replays(5)
      .start(ACCOUNT, id, request)
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ReplayTooLargeError);
    expect(await pending(id)).toEqual([]);
    const { maxUntil } = refused as ReplayTooLargeError;
    expect(maxUntil).toBe(events[5]?.timestamp);
    const parts = [
      { ...request, until: Date.parse(maxUntil) },
      { ...request, since: Date.parse(maxUntil) },
    ];
    for (const part of parts) await replays(5).start(ACCOUNT, id, part);
    expect(await pending(id)).toEqual(ids(events));
  });

  it('sends only the events that the event log still contains', async () => {
    await on.harness.record(600);
    const id = await subscribe();
    await on.harness.markDispatched();
    await on.harness.log.trim(ACCOUNT, { maxAgeMs: 3_600_000, maxCount: 7 });
    expect(await replay(id, { since: 1 })).toBe(7);
  });

  it('is refused for a disabled webhook, and has the result `undefined` for a webhook that does not exist', async () => {
    const id = await subscribe({ enabled: false });
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(3));
    await expect(replay(id, {})).rejects.toThrow(/disabled.*PATCH it with \{"enabled": true\}/);
    expect(await replay('whk_nowhere', {})).toBeUndefined();
    const request = { ...ALWAYS, scope: 'missed' as const };
    await expect(replays().count(ACCOUNT, id, request)).rejects.toThrow(/disabled/);
    expect(await replays().count(ACCOUNT, 'whk_nowhere', request)).toBeUndefined();
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: true });
    expect(await replay(id, {})).toBe(3);
  });

  it('of missed events includes deliveries that ended when the webhook was disabled', async () => {
    const id = await subscribe();
    const waiting = await on.harness.record(3);
    await on.harness.dispatcher.dispatch(ACCOUNT, waiting);
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: false });
    expect(await pending(id)).toEqual([]);
    const missed = await on.harness.record(2);
    await on.harness.dispatcher.dispatch(ACCOUNT, missed);
    await on.harness.endpoints.change(ACCOUNT, id, { enabled: true });
    const after = await on.harness.record(2);
    await on.harness.dispatcher.dispatch(ACCOUNT, after);
    expect(await replay(id, { scope: 'pending' })).toBe(0);
    expect(await replay(id, {})).toBe(5);
    expect(new Set(await pending(id))).toEqual(new Set(ids([...waiting, ...missed, ...after])));
  });
});
