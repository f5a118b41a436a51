import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ContactListPoller, type FeedSource, MIN_ABSENCE_UNTIL_DELETED_MS } from '#feed';
import { accountKeys, type AccountKeys } from '#platform';
import { RedisBackup } from '../../support/redis-backup.js';
import { eventually } from '../../support/eventually.js';
import { packId } from '../../../libs/feed/src/snapshot/id-codec.js';
import { ACCOUNT } from './feed-harness.js';
import { NUMBER, received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();

type Part = 'contact' | 'messages' | 'log' | 'stream';

async function lose(part: Part, contactId: string): Promise<void> {
  const { harness } = here;
  const keys = accountKeys(harness.prefix, ACCOUNT);
  const lost = {
    contact: [keys('c', contactId)],
    messages: [keys('m', contactId)],
    log: [keys('events'), keys('events', 'index'), keys('events', 'counters')],
    stream: [keys('events')],
  };
  expect(await harness.redis.del(...lost[part])).toBeGreaterThan(0);
}

describe('after Redis lost its writes of the last few seconds,', () => {
  it('a new event of a message never has the id of a lost event', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(5);
    const before = await RedisBackup.create(harness.redis, harness.prefix);
    const [id] = ids;
    const [fresh] = harness.createMessages(contactId);
    harness.control('messages/edit', { id, message: 'Read by a subscriber' });
    await harness.sweep();
    const lost = await harness.events();
    expect(lost).toHaveLength(2);

    await before.restore(here.redis);
    harness.control('messages/edit', { id, message: 'Edited meanwhile' });
    harness.control('messages/edit', { id: fresh, message: 'Edited, too' });
    await harness.sweep();
    const emitted = await harness.events();
    expect(emitted.map(({ type }) => type)).toEqual(['message.received', 'message.updated']);
    expect(emitted.filter((event) => lost.some((other) => other.id === event.id))).toEqual([]);
    // The revision floor stays: later events do not reuse a lost id either.
    harness.control('messages/edit', { id, message: 'Edited again' });
    await harness.sweep();
    const last = (await harness.events()).slice(2);
    expect(last.map(({ type }) => type)).toEqual(['message.updated']);
    expect(lost.some((other) => other.id === last[0]?.id)).toBe(false);
  });

  it('a new deletion of a message never has the id of a lost deletion', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(5);
    const before = await RedisBackup.create(harness.redis, harness.prefix);
    const [id = ''] = ids;
    const deletion = async (): Promise<string | undefined> => {
      harness.control('messages/delete', { id });
      await here.readAllMinutesApart(contactId, 2);
      return (await harness.events()).find(({ type }) => type === 'message.deleted')?.id;
    };
    const lost = await deletion();
    harness.control('messages/restore', { id });
    await here.readAll(contactId);
    await before.restore(here.redis);
    const emitted = await deletion();
    expect(emitted).toMatch(/^evt_/);
    expect(emitted).not.toBe(lost);
  });

  it('a poll that began before the loss commits nothing, because events that it relies on may be lost', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(5);
    const before = await RedisBackup.create(harness.redis, harness.prefix);
    const [lost = ''] = harness.createMessages(contactId);
    await harness.sweep();
    harness.control('messages/edit', { id: lost, message: 'Edited' });
    const straddling = here.afterPage(1, async () => {
      await before.restore(here.redis);
      // In the new Redis run, another poll brings the contact to the version that the first poll knows.
      harness.control('messages/delete', { id: lost });
      await harness.polls.poll(ACCOUNT, contactId);
      harness.control('messages/restore', { id: lost });
    });
    await harness.poller(straddling, 'silent', { sweepMs: 0 }).poll(ACCOUNT, contactId);
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received([lost]));
  });

  it('a poll of the contact list that began before the loss commits nothing, because events that it relies on may be lost', async () => {
    const { harness } = here;
    const { contactId: known } = await here.createKnownContact(0);
    const before = await RedisBackup.create(harness.redis, harness.prefix);
    const lost = harness.createContact('+15550002222');
    await harness.list.poll(ACCOUNT);
    const { source } = harness;
    let isRestored = false;
    const straddling: FeedSource = {
      ...source,
      listContacts: async (...args) => {
        if (!isRestored) {
          isRestored = true;
          await before.restore(here.redis);
          // In the new Redis run, another poll brings the list to the version that the first poll knows.
          harness.control('contacts/delete', { contactId: lost });
          harness.control('contacts/edit', { contactId: known, name: 'Known' });
          await harness.list.poll(ACCOUNT);
          harness.control('contacts/restore', { contactId: lost });
          harness.control('contacts/edit', { contactId: lost, name: 'Edited' });
        }
        return source.listContacts(...args);
      },
    };
    await new ContactListPoller(harness.store, straddling, MIN_ABSENCE_UNTIL_DELETED_MS).poll(ACCOUNT);
    const emitted = (await harness.deliveredEvents()).map(({ type, contactId }) => [type, contactId]);
    expect(emitted).toEqual([
      ['contact.updated', known],
      ['contact.created', lost],
    ]);
  });

  it.each(['are lost in a failover of Redis', 'are deleted by a new baseline'] as const)(
    'a first read whose earlier pages %s ends early, and no old message is emitted as new',
    async (loss) => {
      const { harness } = here;
      harness.control('settings', { limitCap: 20 });
      const contactId = harness.createContact(NUMBER);
      here.createOldMessages(contactId, 100);
      await harness.list.poll(ACCOUNT);
      await harness.polls.pollHead(ACCOUNT, contactId);
      const before = await RedisBackup.create(harness.redis, harness.prefix);
      const source = here.afterPage(3, async () => {
        if (loss === 'are lost in a failover of Redis') await before.restore(here.redis);
        else {
          await lose('messages', contactId);
          await harness.polls.pollHead(ACCOUNT, contactId);
        }
      });
      expect(await harness.poller(source).runDeepRead(ACCOUNT, contactId, 'poll')).toBe(false);
      expect(await harness.polls.runDeepRead(ACCOUNT, contactId, 'poll')).toBe(true);
      await here.readAll(contactId);
      expect(await here.messageEvents()).toEqual([]);
      const fresh = harness.createMessages(contactId);
      await here.readAll(contactId);
      expect(await here.messageEvents()).toEqual(received(fresh));
    },
  );

  it('a new event of a contact never has the id of a lost event', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(5);
    const before = await RedisBackup.create(harness.redis, harness.prefix);
    harness.control('contacts/edit', { contactId, name: 'Read by a subscriber' });
    await harness.list.poll(ACCOUNT);
    const lost = await harness.events();
    await before.restore(here.redis);
    harness.control('contacts/edit', { contactId, name: 'Edited meanwhile' });
    await harness.list.poll(ACCOUNT);
    const emitted = await harness.events();
    expect([...lost, ...emitted].map(({ type }) => type)).toEqual(['contact.updated', 'contact.updated']);
    expect(emitted[0]?.id).not.toBe(lost[0]?.id);
  });
});

describe('a worker', () => {
  it.each(
    (['contact', 'messages', 'log', 'stream'] as const).flatMap((part) =>
      (['newestFirst', 'oldestFirst', 'random'] as const).map((order) => ({ part, order })),
    ),
  )(
    'takes a new baseline and emits only one contact.resynced after Redis lost stored data (lost: $part; order of messages: $order)',
    async ({ part, order }) => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(45);
      harness.createMessages(contactId, { direction: 'outbound', delivered: true });
      await harness.sweep();
      await lose(part, contactId);
      const before = (await harness.eventTypes()).length;
      for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
      expect((await harness.eventTypes()).slice(before)).toEqual(['contact.resynced']);
      const ids = harness.createMessages(contactId, { count: 3, intervalMs: 10 });
      await harness.sweep();
      const emitted = (await harness.deliveredEvents()).slice(before + 1);
      expect(emitted.map(({ data }) => (data['message'] as { id: string }).id)).toEqual(ids);
    },
  );

  it('takes a new baseline of a contact whose record was lost, even if a send expedites its poll first', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(5);
    await lose('contact', contactId);
    await harness.store.expeditePollsOfRecipients(ACCOUNT, [NUMBER], 0);
    await harness.polls.poll(ACCOUNT, contactId);
    const ids = harness.createMessages(contactId);
    await harness.polls.poll(ACCOUNT, contactId);
    expect(await harness.eventTypes()).toEqual(['contact.resynced', 'message.received']);
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it('neither repeats nor misses an event after Redis lost the stored contact list', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(5);
    const ids = harness.createMessages(contactId);
    await harness.redis.del(accountKeys(harness.prefix, ACCOUNT)('contacts'));
    await harness.sweep();
    await harness.sweep();
    expect(await harness.eventTypes()).toEqual(['message.received']);
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it('emits each new change of a message after Redis lost the stored messages of the contact', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(5);
    const [id = ''] = harness.createMessages(contactId);
    await harness.sweep();
    for (const message of ['a', 'b', 'lost', 'c', 'd', 'e']) {
      if (message === 'lost') await lose('messages', contactId);
      else harness.control('messages/edit', { id, message });
      await harness.sweep();
    }
    const updated = Array.from({ length: 5 }, () => 'message.updated');
    updated.splice(2, 0, 'contact.resynced');
    expect(await harness.eventTypes()).toEqual(['message.received', ...updated]);
  });

  it('emits only account.suspect if upstream has new ids for all contacts and messages', async () => {
    const { harness } = here;
    harness.control('contacts', { count: 15 });
    await harness.list.poll(ACCOUNT);
    for (const id of (await harness.store.contactListSnapshot(ACCOUNT)).contacts.keys())
      here.createOldMessages(id, 12);
    await harness.sweep();
    harness.control('upstream-replaced', { keep: 'everything' });
    await harness.sweep();
    await harness.sweep();
    expect(await harness.eventTypes()).toEqual(['account.suspect']);
  });

  it('removes the stored messages of a contact if a read of all pages finds none of them', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(12);
    harness.control('messages/delete', { ids });
    here.createOldMessages(contactId, 60);
    await here.readAll(contactId);
    expect(await harness.eventTypes()).toEqual(['contact.resynced']);
    const stored = await harness.store.allKnownMessages(ACCOUNT, contactId);
    expect(ids.filter((id) => stored.has(id))).toEqual([]);
  });

  it('emits message.received again, with a new event id, if all messages of a contact vanish and one of them returns', async () => {
    const { harness } = here;
    const { contactId, ids: old } = await here.createKnownContact(2);
    const ids = harness.createMessages(contactId, { count: 12, intervalMs: 10 });
    await harness.sweep();
    harness.control('messages/delete', { ids: [...old, ...ids] });
    here.createOldMessages(contactId, 60);
    await here.readAll(contactId);
    harness.control('messages/restore', { ids: ids.slice(-1) });
    await here.readAll(contactId);
    const emitted = await harness.deliveredEvents();
    const types = emitted.map(({ type }) => type);
    expect(types.slice(12)).toEqual(['contact.resynced', 'message.received']);
    expect((emitted.at(-1)?.data['message'] as { id: string }).id).toBe(ids.at(-1));
    const events = await harness.events();
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  describe.each(['newestFirst', 'oldestFirst', 'random'] as const)('order of messages: %s', (order) => {
    it.each([
      [30, 30],
      [30, 12],
      [15, 15],
      [30, 130],
    ])(
      'takes a new baseline and emits no event for an old message if upstream replaced all %d messages of a contact by %d others',
      async (before, after) => {
        const { harness } = here;
        harness.control('settings', { order });
        const { contactId, ids } = await here.createKnownContact(before);
        harness.control('messages/delete', { ids });
        here.createOldMessages(contactId, after);
        await harness.sweep();
        await harness.sweep();
        expect(await harness.eventTypes()).toEqual(['contact.resynced']);
        const fresh = harness.createMessages(contactId);
        await harness.sweep();
        await harness.sweep();
        expect(await here.messageEvents()).toEqual(received(fresh));
      },
    );

    it('emits an event for each message that arrives after all messages of a contact were deleted', async () => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId, ids } = await here.createKnownContact(30);
      harness.control('messages/delete', { ids });
      const fresh = harness.createMessages(contactId, { count: 3, intervalMs: 10 });
      await harness.sweep();
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received(fresh));
    });
  });
});

describe('a new baseline that is taken because all messages were replaced', () => {
  it('emits message.received for a message that arrived after the last read, even if the next reply of upstream takes 4 s', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(30);
    harness.control('messages/delete', { ids });
    here.createOldMessages(contactId, 30);
    const fresh = harness.createMessages(contactId);
    const steady = performance.now.bind(performance);
    let passedMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => steady() + passedMs);
    const { source } = harness;
    const slow: typeof source = {
      ...source,
      listMessages: async (...request) => {
        passedMs = 4_000;
        harness.control('settings', { clockSkewMs: passedMs });
        return source.listMessages(...request);
      },
    };
    await harness.poller(slow).pollHead(ACCOUNT, contactId);
    clock.mockRestore();
    expect(await harness.eventTypes()).toEqual(['contact.resynced', 'message.received']);
    expect(await here.messageEvents()).toEqual(received(fresh));
  });

  it('emits message.received for a message that arrived after the last read, even if upstream’s clock is 5 s behind and upstream answers 404 after the last page', async () => {
    const { harness } = here;
    harness.control('settings', { clockSkewMs: -5_000, missingPageStatus: 404 });
    const { contactId, ids } = await here.createKnownContact(30);
    harness.control('messages/delete', { ids });
    here.createOldMessages(contactId, 30);
    const fresh = harness.createMessages(contactId);
    const poller = harness.poller(harness.source, 'silent', { sweepMs: 0 });
    await poller.runDeepRead(ACCOUNT, contactId, 'poll');
    expect(await harness.eventTypes()).toEqual(['contact.resynced', 'message.received']);
    expect(await here.messageEvents()).toEqual(received(fresh));
  });
});

describe('in a list whose messages have no timestamps', () => {
  beforeEach(() => {
    here.harness.control('settings', { order: 'random', timestampFormat: 'absent' });
  });

  it('a new baseline is taken if all messages are replaced by as many others', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(30);
    harness.control('messages/delete', { ids });
    here.createOldMessages(contactId, 30);
    await harness.sweep();
    await harness.sweep();
    expect(await harness.eventTypes()).toEqual(['contact.resynced']);
  });

  it('new messages cause events if only a few new messages replace all messages', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(30);
    harness.control('messages/delete', { ids });
    const fresh = here.createOldMessages(contactId, 3);
    await harness.sweep();
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received(fresh));
  });
});

describe('after all messages of a contact were deleted at upstream,', () => {
  it('every message that arrives before message.deleted is emitted for the others causes one event', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(15);
    harness.control('messages/delete', { ids });
    await harness.sweep();
    const fresh = harness.createMessages(contactId);
    await harness.sweep();
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received(fresh));
    const later = harness.createMessages(contactId, { count: 2, intervalMs: 10 });
    await harness.sweep();
    expect(await here.messageEvents()).toEqual(received([...fresh, ...later]));
  });
});

describe('two concurrent polls of one contact', () => {
  it.each(['newestFirst', 'oldestFirst'] as const)(
    'emit one event for each change if the lease of the first poll expires during its read (order of messages: %s)',
    async (order) => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(30);
      const ids = harness.createMessages(contactId, { count: 25, intervalMs: 10 });
      const claim = async (leaseMs: number): Promise<boolean> =>
        (await harness.takeDue(1, leaseMs)).includes(contactId);
      await harness.store.expeditePoll(ACCOUNT, contactId, 0);
      expect(await claim(100)).toBe(true);
      let second = false;
      const slow = here.afterPage(order === 'newestFirst' ? 1 : 2, async () => {
        await eventually('the lease has expired', () => claim(60_000));
        second = true;
        await harness.polls.poll(ACCOUNT, contactId);
        ids.push(...harness.createMessages(contactId));
      });
      expect(await harness.poller(slow).poll(ACCOUNT, contactId)).toBe(true);
      await harness.sweep();
      expect(second).toBe(true);
      expect(await here.messageEvents()).toEqual(received(ids));
      const sequences = (await harness.deliveredEvents()).map(({ sequence }) => sequence);
      expect(sequences).toEqual(ids.map((__, n) => n + 1));
    },
  );
});

describe('the stored state of a contact', () => {
  const damages = {
    memory: (keys: AccountKeys, contactId: string) =>
      here.harness.redis.hset(keys('c', contactId), 'm0', '{"order":"newestFirst"}'),
    'a message at the head': (keys: AccountKeys, contactId: string, id: string) =>
      here.harness.redis.hset(keys('m', contactId), packId(id), 'damaged'),
    'a field with an invalid id': (keys: AccountKeys, contactId: string) =>
      here.harness.redis.hset(keys('m', contactId), Buffer.of(0xff, 1, 2), 'damaged'),
  };
  it.each(Object.entries(damages))(
    'counts as lost if its bytes are damaged (%s): a new baseline is taken, and contact.resynced is emitted once',
    async (_, damage) => {
      const { harness } = here;
      const { contactId, ids } = await here.createKnownContact(45);
      await damage(accountKeys(harness.prefix, ACCOUNT), contactId, ids.at(-1) ?? '');
      await here.readAll(contactId);
      for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
      expect(await harness.eventTypes()).toEqual(['contact.resynced']);
      const fresh = harness.createMessages(contactId, { count: 3, intervalMs: 10 });
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received(fresh));
    },
  );
});
