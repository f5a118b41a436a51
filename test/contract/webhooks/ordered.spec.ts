import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '#events';
import { deliveryId } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import type { Answer, Received, Receiver } from './receiver.js';
import { ACCOUNT } from './street.js';
import { WithStreet } from './with-street.js';

const TERMS = { slots: 100, room: 100, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };

const on = new WithStreet();

/** A request of an ordered endpoint, and how it was answered. */
interface Told {
  contact: string;
  sequence: number;
  status: number;
}

/** A receiver that keeps, per contact, what it was told and how it answered, and how many requests were under way. */
async function receiver(
  answer: (told: Omit<Told, 'status'>) => number,
): Promise<{ to: Receiver; told: Told[]; mostAtOnce: (contact: string) => number }> {
  const told: Told[] = [];
  const underWay = new Map<string, number>();
  const most = new Map<string, number>();
  const reply = ({ body }: Received): Answer => {
    const { contactId = '', sequence } = JSON.parse(body) as { contactId?: string; sequence: number };
    const now = (underWay.get(contactId) ?? 0) + 1;
    underWay.set(contactId, now);
    most.set(contactId, Math.max(most.get(contactId) ?? 0, now));
    setTimeout(() => underWay.set(contactId, (underWay.get(contactId) ?? 0) - 1), 1);
    const status = answer({ contact: contactId, sequence });
    told.push({ contact: contactId, sequence, status });
    return { status, afterMs: 2 };
  };
  const to = await on.receiver(reply);
  return { to, told, mostAtOnce: (contact) => most.get(contact) ?? 0 };
}

/** Events of so many contacts in turn, as the log has them. */
async function recorded(count: number, contacts: number): Promise<LoggedEvent[]> {
  const end = await on.street.log.end(ACCOUNT);
  await on.street.log.append(
    ACCOUNT,
    Array.from({ length: count }, (_, n) => ({
      type: 'message.received' as const,
      contactId: `c${n % contacts}`,
      subject: `message:${n}`,
      revision: 1,
      data: {},
    })),
  );
  return (await on.street.log.read(ACCOUNT, end, count)).events;
}
async function dispatched(count: number, contacts: number): Promise<LoggedEvent[]> {
  const events = await recorded(count, contacts);
  await on.street.dispatcher.dispatch(ACCOUNT, events);
  return events;
}
async function subscribe(url = 'http://127.0.0.1:9/', ordered = true): Promise<string> {
  return (await on.street.endpoints.create(ACCOUNT, { url, ordered })).endpoint.id;
}
async function claimed(id: string): Promise<{ sequence: number; settle: (ok: boolean) => Promise<void> }[]> {
  const reply = await on.street.deliveries.claim(ACCOUNT, id, TERMS);
  if (reply.kind === 'ended') throw new Error('ended');
  return reply.deliveries.map((delivery) => ({
    sequence: (JSON.parse(delivery.body) as { sequence: number }).sequence,
    settle: async (ok) => {
      const settlement = ok
        ? ({ status: 'succeeded' } as const)
        : ({ status: 'pending', waitMs: 0 } as const);
      await on.street.deliveries.settle(ACCOUNT, delivery, ATTEMPT, settlement);
    },
  }));
}
async function nextOf(id: string): Promise<number[]> {
  return (await claimed(id)).map(({ sequence }) => sequence);
}

describe('an ordered endpoint', () => {
  it('gets 1,000 events of 20 contacts in sequence per contact, each after the last succeeded or gave up', async () => {
    let seed = 42;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const { to, told, mostAtOnce } = await receiver(() => (random() < 0.3 ? 500 : 204));
    const id = await subscribe(to.url);
    // Three attempts: some give up.
    for (let i = 0; i < 3; i++) on.street.pump([0.005, 0.005]);
    const events = await recorded(1_000, 20);
    for (let at = 0; at < events.length; at += 100) {
      await on.street.dispatcher.dispatch(ACCOUNT, events.slice(at, at + 100));
    }
    const [pump] = on.street.jobs.pumps;
    await eventually(
      'nothing is pending',
      async () => {
        await pump?.reconcile(ACCOUNT);
        const { deliveries } = await on.street.deliveries.list(ACCOUNT, id, { limit: 1, status: 'pending' });
        return deliveries.length === 0;
      },
      50_000,
    );
    let gaveUp = 0;
    for (let contact = 0; contact < 20; contact++) {
      const own = told.filter((one) => one.contact === `c${contact}`);
      const expected: Told[] = [];
      for (let sequence = 1; sequence <= 50; sequence++) {
        const attempts = own.filter((one) => one.sequence === sequence);
        const succeeded = attempts.at(-1)?.status === 204;
        expect(attempts.length === 3 || succeeded).toBe(true);
        if (!succeeded) gaveUp++;
        expected.push(...attempts);
      }
      expect(own).toEqual(expected);
      expect(mostAtOnce(`c${contact}`)).toBe(1);
    }
    expect(gaveUp).toBeGreaterThan(0);
    expect(to.most).toBeGreaterThan(1);
  }, 60_000);

  it('whose one contact fails delays no other', async () => {
    const { to, told } = await receiver(({ contact }) => (contact === 'c3' ? 500 : 204));
    await subscribe(to.url);
    on.street.pump([60]);
    await dispatched(200, 10);
    await eventually('all others arrived', () => told.filter(({ status }) => status === 204).length === 180);
    expect(told.filter(({ contact }) => contact === 'c3')).toEqual([
      { contact: 'c3', sequence: 1, status: 500 },
    ]);
  });

  it('goes on in a lane where a process died, with what that had claimed', async () => {
    on.street.jobs.lost = true;
    const id = await subscribe();
    await dispatched(3, 1);
    const gone = await on.street.deliveries.claim(ACCOUNT, id, { ...TERMS, leaseMs: 1 });
    expect(gone.kind === 'claimed' ? gone.deliveries.length : 0).toBe(1);
    await eventually('claimed again', async () => {
      const [first] = await claimed(id);
      await first?.settle(true);
      return first?.sequence === 1;
    });
    expect(await nextOf(id)).toEqual([2]);
  });

  it('has one lane for what is of no contact', async () => {
    on.street.jobs.lost = true;
    const id = await subscribe();
    const events = await on.street.record(3, { type: 'send.accepted', contactId: '', subject: 'send:1' });
    await on.street.dispatcher.dispatch(ACCOUNT, events);
    expect(await nextOf(id)).toEqual([1]);
  });

  it('gets what is made again in its place: before what waits, after what is under way', async () => {
    on.street.jobs.lost = true;
    const id = await subscribe();
    const [first, second] = await dispatched(4, 1);
    for (const event of [first, second]) {
      const [one] = await claimed(id);
      expect(one?.sequence).toBe(event?.sequence);
      await one?.settle(true);
    }
    const again = async (event: LoggedEvent | undefined): Promise<string> => {
      if (event === undefined) throw new Error('no event');
      return on.street.deliveries.retry(ACCOUNT, deliveryId(event.id, id));
    };
    const [third] = await claimed(id);
    expect(await again(second)).toBe('retried');
    // The third is under way; put off, it is behind the second.
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

  it('that is not ordered any more gets what waited in order, and the rest at once', async () => {
    on.street.jobs.lost = true;
    const id = await subscribe();
    await dispatched(2, 1);
    const key = `${on.street.prefix}:{${ACCOUNT}}:webhooks`;
    const stored = JSON.parse((await on.street.redis.hget(key, id)) ?? '') as object;
    await on.street.redis.hset(key, id, JSON.stringify({ ...stored, ordered: false }));
    await on.street.dispatcher.dispatch(ACCOUNT, await on.street.record(2, { contactId: 'c0' }));
    expect((await nextOf(id)).sort()).toEqual([1, 3, 4]);
  });

  it('that is disabled or removed leaves nothing waiting in its lanes', async () => {
    on.street.jobs.lost = true;
    const [disabled, removed] = [await subscribe(), await subscribe()];
    await dispatched(1_200, 3);
    await nextOf(removed);
    await on.street.endpointStore.disable(ACCOUNT, disabled, 'x');
    await on.street.deliveries.endPending(ACCOUNT, disabled);
    await on.street.endpoints.remove(ACCOUNT, removed);
    const { deliveries } = await on.street.deliveries.list(ACCOUNT, disabled, {
      limit: 1,
      status: 'pending',
    });
    expect(deliveries).toEqual([]);
    const left = await on.street.redis.keys(`${on.street.prefix}:*endpoint*`);
    const name = `${on.street.prefix}:{${ACCOUNT}}:endpoint:${disabled}`;
    // Besides what it missed, and what keeps older builds from claiming.
    const kept = ['deliveries', 'deliveries:failed', 'gaps', 'pace'];
    expect(left.sort()).toEqual(kept.map((key) => `${name}:${key}`));
  });
});
