import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Events, expectNoGaps, messageIdOf } from './events.js';
import { Sends } from './sends.js';
import { testShownAsBefore } from './shown-as-before.js';
import { Subscriber } from './subscriber.js';
import { ACCOUNTS, Upgraded } from './upgraded.js';

/** Webhooks whose receivers respond after the upgrade, each with its account. */
const REACHABLE = {
  ...{ live: 'default', failing: 'default', ordered: 'default', filtered: 'default', hanging: 'default' },
  ...{ off: 'default', 'of another account': 'oldest' },
};

/**
 * Declares the tests that the present build shows, and then continues, what an old build stored.
 * @param snapshotName see `readSnapshot`
 */
export function testUpgradeFrom(snapshotName: string): void {
  let upgraded: Upgraded;
  let sends: Sends;
  const subscribers = new Map<string, Subscriber>();
  beforeAll(async () => {
    upgraded = await Upgraded.start(snapshotName);
    sends = new Sends(upgraded);
  });
  let working: Promise<void> | undefined;
  /** Starts the worker, once the tests are over that need what the old build stored as it was. */
  const startWorker = (): Promise<void> => (working ??= moveAndStartWorker());
  const moveAndStartWorker = async (): Promise<void> => {
    // All ports have changed, so the accounts get their new upstream addresses before the worker starts.
    await upgraded.moveAccounts();
    for (const [name, account] of Object.entries(REACHABLE))
      subscribers.set(name, await Subscriber.start(upgraded, name, account));
    // The last messages of the old build were hidden until after the snapshot.
    await upgraded.simulate('default', 'settings', { sendVisibleDelayMs: 50 });
    await upgraded.startWorker();
  };
  afterAll(async () => {
    await upgraded[Symbol.asyncDispose]();
    for (const subscriber of subscribers.values()) await subscriber[Symbol.asyncDispose]();
  });

  function subscriberOf(name: keyof typeof REACHABLE): Subscriber {
    const subscriber = subscribers.get(name);
    if (subscriber === undefined) throw new Error(`no subscriber "${name}"`);
    return subscriber;
  }

  describe(`an installation of commit ${snapshotName}`, () => {
    testShownAsBefore(snapshotName, () => upgraded);
  });

  describe('after an upgrade, with the event log and the snapshots of the old build,', () => {
    beforeAll(startWorker);

    it.each([
      ['default', 'Ann'],
      ['oldest', 'Dora'],
      ['shuffled', 'Fay'],
    ])(
      'the new message and the edited message of a contact are emitted, and no other message of the contact (account `%s`)',
      async (account, name) => {
        const contactId = upgraded.snapshot.names.contacts[name] ?? '';
        const events = new Events(upgraded, account);
        const received = { contactId, text: 'New' };
        const { ids } = await upgraded.simulate<{ ids: string[] }>(account, 'messages', received);
        // Only a read of everything, compared with what is stored of it, finds the edit of the oldest message.
        const oldest = await upgraded.oldestMessage(account, contactId);
        await upgraded.simulate(account, 'messages/edit', { id: oldest, message: 'Edited after years' });
        const seen = await eventually('the new message and the edit are emitted', async () => {
          const later = (await events.later()).filter((event) => event.contactId === contactId);
          const subjects = ['message.received', 'message.updated'].map((type) =>
            later.filter((event) => event.type === type).map(messageIdOf),
          );
          return subjects.every(({ length }) => length > 0) && subjects;
        });
        expect(seen).toEqual([ids, [oldest]]);
      },
    );

    it('a deleted message that returns is emitted as message.updated, and a deleted contact that returns as contact.created', async () => {
      const { contacts, messages } = upgraded.snapshot.names;
      const events = new Events(upgraded, 'default');
      await upgraded.simulate('default', 'messages/restore', { id: messages['deleted'] });
      await upgraded.simulate('default', 'contacts/restore', { contactId: contacts['Hal'] });
      const updated = await eventually('the message is updated', async () => {
        const later = await events.later();
        return later.find(
          (event) => event.type === 'message.updated' && messageIdOf(event) === messages['deleted'],
        );
      });
      expect(updated.data['changes']).toEqual({ deleted: { from: true, to: false } });
      await eventually('the contact is created', async () => {
        const created = (await events.later()).filter(({ type }) => type === 'contact.created');
        return created.some(({ contactId }) => contactId === contacts['Hal']);
      });
    });

    it.each(ACCOUNTS)(
      'the event log of the account `%s` keeps the events of the old build, and a read from a cursor of the old build returns exactly the later events',
      async (account) => {
        const events = new Events(upgraded, account);
        const later = await events.later();
        const all = await events.all();
        const ids = [...events.before(), ...later].map(({ id }) => id);
        expect(all.map(({ id }) => id).slice(0, ids.length)).toEqual(ids);
        expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
        expectNoGaps(all, 1);
      },
    );

    it.each(ACCOUNTS)(
      'the account `%s` gets no second message.received for a message and no second contact.created for a contact',
      async (account) => {
        const all = await new Events(upgraded, account).all();
        const received = all.filter(({ type }) => type === 'message.received').map(messageIdOf);
        expect(new Set(received).size).toBe(received.length);
        const { Hal: returned } = upgraded.snapshot.names.contacts;
        const created = all.filter(
          ({ type, contactId }) => type === 'contact.created' && contactId !== returned,
        );
        expect(new Set(created.map(({ contactId }) => contactId)).size).toBe(created.length);
      },
    );
  });

  describe('after an upgrade, with the webhooks of the old build,', () => {
    beforeAll(startWorker);

    it.each(['ordered', 'filtered', 'hanging', 'failing', 'of another account'] as const)(
      'the webhook "%s" gets the pending deliveries of the old build, signed with the secret from before the upgrade',
      async (name) => {
        const subscriber = subscriberOf(name);
        const pending = subscriber.pendingBefore();
        expect(pending.length).toBeGreaterThan(0);
        for (const { id, eventId, attempts } of pending) {
          await subscriber.receives(eventId);
          const delivery = await subscriber.succeeded(id);
          expect(delivery.attempts.slice(0, attempts.length)).toEqual(attempts);
        }
        expect(subscriber.receiver.invalidRequests).toEqual([]);
      },
    );

    it('an ordered webhook gets the events of each contact in sequence', async () => {
      await subscriberOf('ordered').receivesMessageOf('Ben');
      const { events } = subscriberOf('ordered').receiver;
      // An event may be delivered twice.
      expectNoGaps(events.filter(({ id }, i) => events.findIndex((event) => event.id === id) === i));
    });

    it('a webhook gets an event that the old build had recorded but not dispatched', async () => {
      const id = upgraded.snapshot.names.sends['cancelled without a worker'];
      const { receiver } = subscriberOf('live');
      await eventually('the event arrives', () =>
        receiver
          .eventsOfType('send.cancelled')
          .some(({ data }) => (data['send'] as { id: string }).id === id),
      );
    });

    it('a webhook keeps its filter and headers', async () => {
      await subscriberOf('filtered').receivesMessageOf('Ann');
      const { events, requestHeaders } = subscriberOf('filtered').receiver;
      const { Ann } = upgraded.snapshot.names.contacts;
      expect(
        events.filter(({ type, contactId }) => !type.startsWith('message.') || contactId !== Ann),
      ).toEqual([]);
      expect(requestHeaders.at(-1)).toMatchObject({
        authorization: 'Bearer of the subscriber',
        'x-team': 'north',
      });
    });

    it('a webhook that was disabled gets its missed events by a replay once the webhook is enabled', async () => {
      const subscriber = subscriberOf('off');
      expect(subscriber.receiver.events).toEqual([]);
      const { updatedAt: since } = subscriber.before();
      await upgraded.json('PATCH', subscriber.path, { enabled: true });
      await upgraded.json('POST', `${subscriber.path}/replay`, { since, only: 'missed' });
      const received = new Events(upgraded, 'default')
        .before()
        .filter(({ type }) => type === 'message.received');
      const missed = received.filter(({ timestamp }) => timestamp > since);
      expect(missed.length).toBeGreaterThan(0);
      for (const { id } of missed) await subscriber.receives(id);
    });
  });

  describe('contacts that an old build stored', () => {
    beforeAll(startWorker);

    it('appear in the list of conversations after their next poll, sorted by last activity', async () => {
      interface Row {
        contactId: string | null;
        preview: string | null;
        lastActivityAt: string | null;
        unreadCount: number;
      }
      // Read together: the worker posts sends meanwhile, and each new recipient becomes a contact.
      const rows = await eventually('every contact has a conversation', async () => {
        const { conversations: count } = await upgraded.json<{
          conversations: { rows: number; contacts: number };
        }>('GET', '/v1/status', undefined, 'default');
        const { conversations } = await upgraded.json<{ conversations: Row[] }>(
          'GET',
          '/v1/conversations?limit=100',
          undefined,
          'default',
        );
        const ofContacts = conversations.filter(({ contactId }) => contactId !== null);
        const complete = count.contacts > 0 && count.rows === count.contacts;
        return complete && ofContacts.length === Math.min(count.contacts, 100) && ofContacts;
      });
      const active = rows.filter(({ lastActivityAt }) => lastActivityAt !== null);
      expect(active.length).toBeGreaterThan(0);
      expect(active.some(({ preview }) => preview !== null)).toBe(true);
      const times = active.map(({ lastActivityAt }) => Date.parse(lastActivityAt ?? ''));
      expect(times).toEqual(times.toSorted((a, b) => b - a));
    });
  });

  // Last: the worker looks each send up for seconds before it posts it, and the other tests use this time.
  describe('sends that an old build stored', () => {
    beforeAll(startWorker);

    it.each([
      'queued',
      'queued behind another',
      'queued behind a look-up',
      'queued after an attempt',
      'queued with a key',
      'scheduled, due soon',
    ])('are posted exactly once by the new build: "%s"', async (name) => {
      await sends.becomes(name, 'sent', 'delivered');
      expect(await sends.postsOf(name)).toHaveLength(1);
    });

    it('are posted exactly once by the new build, also for an account other than `default`', async () => {
      const others = new Sends(upgraded, 'oldest');
      await others.becomes('queued in another account', 'sent', 'delivered');
      expect(await others.postsOf('queued in another account')).toHaveLength(1);
    });

    it('are posted once, with their uploaded file', async () => {
      await sends.becomes('queued with a file', 'sent', 'delivered');
      const posts = await sends.postsOf('queued with a file');
      const sha256 = createHash('sha256').update('Waits').digest('hex');
      expect(posts).toHaveLength(1);
      expect(posts[0]?.parts).toContainEqual(expect.objectContaining({ name: 'file', sha256 }));
    });

    it('are posted to each recipient in the order in which they were stored', async () => {
      await sends.becomes('queued behind another', 'sent', 'delivered');
      const order = (await sends.posts()).map(({ message }) => message);
      expect(order.indexOf('queued')).toBeLessThan(order.indexOf('queued behind another'));
      expect(order.indexOf('looked up, taken')).toBeLessThan(order.indexOf('queued behind a look-up'));
    });

    it.each(['accepted', 'accepted with a file', 'looked up, taken', 'being posted'])(
      'are bound to their message and not posted again if upstream already has them: "%s"',
      async (name) => {
        expect((await sends.becomes(name, 'sent', 'delivered')).messageId).toMatch(/^msg_/);
        expect(await sends.postsOf(name)).toHaveLength(1);
      },
    );

    it('end as unknown and are not posted again if the upgrade interrupted their look-up and upstream never got them', async () => {
      expect((await sends.becomes('looked up, not taken', 'unknown')).attempts).toHaveLength(1);
      expect(await sends.postsOf('looked up, not taken')).toEqual([]);
    });

    it.each(['unknown', 'unconfirmed'])(
      'are bound to their message if that message appears only after the upgrade: "%s"',
      async (name) => {
        const message = { direction: 'outbound', to: sends.before(name).phoneNumber, text: name };
        const { ids } = await upgraded.simulate<{ ids: string[] }>('default', 'messages', message);
        expect((await sends.becomes(name, 'sent', 'delivered')).messageId).toBe(ids[0]);
      },
    );

    it('expire without a POST if their expiry time has passed', async () => {
      await sends.becomes('queued, expires soon', 'expired');
      expect(await sends.postsOf('queued, expires soon')).toEqual([]);
    });

    it('change their status when their message changes', async () => {
      const id = upgraded.snapshot.names.messages['sent'];
      await upgraded.simulate('default', 'messages/flags', { id, delivered: true });
      await sends.becomes('sent', 'delivered');
    });

    it.each([
      ...['delivered', 'read', 'with a file', 'with everything', 'resent', 'resolved as sent', 'failed'],
      ...['resolved as failed', 'expired', 'cancelled', 'cancelled without a worker', 'scheduled'],
    ])('stay unchanged if they are finished or not yet due: "%s"', async (name) => {
      expect(await sends.now(name)).toMatchObject(sends.before(name));
    });
  });
}
