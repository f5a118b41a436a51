import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '#events';
import { deliveryId } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import type { Answer, Received, Receiver } from './receiver.js';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const TERMS = { defaultConcurrency: 100, maxDeliveries: 100, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };

const on = new WithWebhookHarness();

/** A request that an ordered endpoint received, and its reply. */
interface Exchange {
  contact: string;
  sequence: number;
  status: number;
}

/** Starts a receiver that records its exchanges and the max concurrency per contact. */
async function receiver(
  answer: (request: Omit<Exchange, 'status'>) => number,
): Promise<{ to: Receiver; exchanges: Exchange[]; maxConcurrent: (contact: string) => number }> {
  const exchanges: Exchange[] = [];
  const underWay = new Map<string, number>();
  const maxima = new Map<string, number>();
  const reply = ({ body }: Received): Answer => {
    const { contactId = '', sequence } = JSON.parse(body) as { contactId?: string; sequence: number };
    const concurrent = (underWay.get(contactId) ?? 0) + 1;
    underWay.set(contactId, concurrent);
    maxima.set(contactId, Math.max(maxima.get(contactId) ?? 0, concurrent));
    const status = answer({ contact: contactId, sequence });
    exchanges.push({ contact: contactId, sequence, status });
    const onReply = (): void => {
      underWay.set(contactId, (underWay.get(contactId) ?? 0) - 1);
    };
    return { status, afterMs: 2, onReply };
  };
  const to = await on.receiver(reply);
  return { to, exchanges, maxConcurrent: (contact) => maxima.get(contact) ?? 0 };
}

/** Records events of several contacts in turn and returns them as logged. */
async function recorded(count: number, contacts: number): Promise<LoggedEvent[]> {
  const end = await on.harness.log.end(ACCOUNT);
  await on.harness.log.append(
    ACCOUNT,
    Array.from({ length: count }, (_, n) => ({
      type: 'message.received' as const,
      contactId: `c${n % contacts}`,
      subject: `message:${n}`,
      revision: 1,
      data: {},
    })),
  );
  return (await on.harness.log.read(ACCOUNT, end, count)).events;
}
async function dispatched(count: number, contacts: number): Promise<LoggedEvent[]> {
  const events = await recorded(count, contacts);
  await on.harness.dispatcher.dispatch(ACCOUNT, events);
  return events;
}
async function subscribe(url = 'http://127.0.0.1:9/', ordered = true): Promise<string> {
  return (await on.harness.endpoints.create(ACCOUNT, { url, ordered })).endpoint.id;
}
async function claimed(id: string): Promise<{ sequence: number; settle: (ok: boolean) => Promise<void> }[]> {
  const reply = await on.harness.deliveries.claim(ACCOUNT, id, TERMS);
  if (reply.kind === 'ended') throw new Error('ended');
  return reply.deliveries.map((delivery) => ({
    sequence: (JSON.parse(delivery.body) as { sequence: number }).sequence,
    settle: async (ok) => {
      const settlement = ok
        ? ({ status: 'succeeded' } as const)
        : ({ status: 'pending', waitMs: 0 } as const);
      await on.harness.deliveries.settle(ACCOUNT, delivery, ATTEMPT, settlement);
    },
  }));
}
async function nextOf(id: string): Promise<number[]> {
  return (await claimed(id)).map(({ sequence }) => sequence);
}

describe('an ordered webhook', () => {
  it('receives the events of each contact in order, one at a time (1,000 events of 20 contacts)', async () => {
    let seed = 42;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const { to, exchanges, maxConcurrent } = await receiver(() => (random() < 0.3 ? 500 : 204));
    const id = await subscribe(to.url);
    // Some deliveries fail all three attempts. No attempt times out: the receiver would still be busy with it.
    for (let i = 0; i < 3; i++) on.harness.startRunner([0.005, 0.005], { timeoutMs: 60_000 });
    const events = await recorded(1_000, 20);
    for (let at = 0; at < events.length; at += 100) {
      await on.harness.dispatcher.dispatch(ACCOUNT, events.slice(at, at + 100));
    }
    const [runner] = on.harness.jobs.runners;
    await eventually(
      'nothing is pending',
      async () => {
        await runner?.reconcile(ACCOUNT);
        const { deliveries } = await on.harness.deliveries.list(ACCOUNT, id, { limit: 1, status: 'pending' });
        return deliveries.length === 0;
      },
      50_000,
    );
    let gaveUp = 0;
    for (let contact = 0; contact < 20; contact++) {
      const own = exchanges.filter((one) => one.contact === `c${contact}`);
      const expected: Exchange[] = [];
      for (let sequence = 1; sequence <= 50; sequence++) {
        const attempts = own.filter((one) => one.sequence === sequence);
        const succeeded = attempts.at(-1)?.status === 204;
        expect(attempts.length === 3 || succeeded).toBe(true);
        if (!succeeded) gaveUp++;
        expected.push(...attempts);
      }
      expect(own).toEqual(expected);
      expect(maxConcurrent(`c${contact}`)).toBe(1);
    }
    expect(gaveUp).toBeGreaterThan(0);
    expect(to.maxConcurrent).toBeGreaterThan(1);
  });

  it('receives the events of other contacts without delay while the deliveries of one contact fail', async () => {
    const { to, exchanges } = await receiver(({ contact }) => (contact === 'c3' ? 500 : 204));
    await subscribe(to.url);
    on.harness.startRunner([60]);
    await dispatched(200, 10);
    await eventually(
      'all others arrived',
      () => exchanges.filter(({ status }) => status === 204).length === 180,
    );
    expect(exchanges.filter(({ contact }) => contact === 'c3')).toEqual([
      { contact: 'c3', sequence: 1, status: 500 },
    ]);
  });

  it('first receives the delivery that a crashed process had claimed, then the other deliveries of that lane', async () => {
    on.harness.jobs.lost = true;
    const id = await subscribe();
    await dispatched(3, 1);
    const gone = await on.harness.deliveries.claim(ACCOUNT, id, { ...TERMS, leaseMs: 1 });
    expect(gone.kind === 'claimed' ? gone.deliveries.length : 0).toBe(1);
    await eventually('the delivery is claimed again', async () => {
      const [first] = await claimed(id);
      await first?.settle(true);
      return first?.sequence === 1;
    });
    expect(await nextOf(id)).toEqual([2]);
  });

  it('has one lane for all events without a contact', async () => {
    on.harness.jobs.lost = true;
    const id = await subscribe();
    const events = await on.harness.record(3, { type: 'send.accepted', contactId: '', subject: 'send:1' });
    await on.harness.dispatcher.dispatch(ACCOUNT, events);
    expect(await nextOf(id)).toEqual([1]);
  });

  it('receives a manually retried delivery after the delivery under way and before the waiting deliveries', async () => {
    on.harness.jobs.lost = true;
    const id = await subscribe();
    const [first, second] = await dispatched(4, 1);
    for (const event of [first, second]) {
      const [one] = await claimed(id);
      expect(one?.sequence).toBe(event?.sequence);
      await one?.settle(true);
    }
    const again = async (event: LoggedEvent | undefined): Promise<string> => {
      if (event === undefined) throw new Error('no event');
      return on.harness.deliveries.retry(ACCOUNT, deliveryId(event.id, id));
    };
    const [third] = await claimed(id);
    expect(await again(second)).toBe('retried');
    // The third delivery is under way. Once its retry waits, it follows the second.
    expect(await nextOf(id)).toEqual([]);
    await third?.settle(false);
    expect(await again(first)).toBe('retried');
    const order: number[] = [];
    for (let n = 0; n < 4; n++) {
      const [one] = await claimed(id);
      order.push(one?.sequence ?? 0);
      await one?.settle(true);
    }
    expect(order).toEqual([1, 2, 3, 4]);
    expect(await nextOf(id)).toEqual([]);
  });

  it('that stops being ordered receives new deliveries at once, and the waiting deliveries still in order', async () => {
    on.harness.jobs.lost = true;
    const id = await subscribe();
    await dispatched(2, 1);
    const key = `${on.harness.prefix}:{${ACCOUNT}}:webhooks`;
    const stored = JSON.parse((await on.harness.redis.hget(key, id)) ?? '') as object;
    await on.harness.redis.hset(key, id, JSON.stringify({ ...stored, ordered: false }));
    await on.harness.dispatcher.dispatch(ACCOUNT, await on.harness.record(2, { contactId: 'c0' }));
    expect((await nextOf(id)).sort()).toEqual([1, 3, 4]);
  });

  it('that is disabled or removed has no deliveries left in its lanes', async () => {
    on.harness.jobs.lost = true;
    const [disabled, removed] = [await subscribe(), await subscribe()];
    await dispatched(1_200, 3);
    await nextOf(removed);
    await on.harness.endpointStore.disable(ACCOUNT, disabled, 'x');
    await on.harness.deliveries.endPending(ACCOUNT, disabled);
    await on.harness.endpoints.remove(ACCOUNT, removed);
    const { deliveries } = await on.harness.deliveries.list(ACCOUNT, disabled, {
      limit: 1,
      status: 'pending',
    });
    expect(deliveries).toEqual([]);
    const left = await on.harness.redis.keys(`${on.harness.prefix}:*endpoint*`);
    const name = `${on.harness.prefix}:{${ACCOUNT}}:endpoint:${disabled}`;
    // These keys stay: the deliveries and gaps, and a key that keeps older builds from claiming.
    const kept = ['deliveries', 'deliveries:failed', 'gaps', 'pace'];
    expect(left.sort()).toEqual(kept.map((key) => `${name}:${key}`));
  });
});
