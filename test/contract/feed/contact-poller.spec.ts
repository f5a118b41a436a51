import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type FeedSource } from '#feed';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { ACCOUNT, FeedHarness } from './feed-harness.js';

const NUMBER = '+15551234567';

let server: TestRedis;
let harness: FeedHarness;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  harness = await FeedHarness.open(server.url);
});
afterEach(async () => {
  await harness.close();
});

/** Returns the message events as sorted lines `type id`. */
async function messageEvents(): Promise<string[]> {
  const events = (await harness.deliveredEvents()).filter(({ type }) => type.startsWith('message.'));
  return events.map(({ type, data }) => `${type} ${String((data['message'] as { id: unknown }).id)}`).sort();
}
const received = (ids: readonly string[]): string[] => ids.map((id) => `message.received ${id}`).sort();

async function expectGaplessSequences(): Promise<void> {
  const next = new Map<string, number>();
  for (const { contactId, sequence } of await harness.deliveredEvents()) {
    expect(sequence).toBe((next.get(contactId) ?? 0) + 1);
    next.set(contactId, sequence);
  }
}

describe.each(['newestFirst', 'oldestFirst', 'random'] as const)(
  'if upstream lists messages in the order %s,',
  (order) => {
    beforeEach(() => {
      harness.control('settings', { order });
    });

    it('each new message and each change of a message flag causes one event', async () => {
      const contactId = harness.createContact(NUMBER);
      const old = { count: 45, timestamp: Date.now() - 86_400_000 * 3, intervalMs: 1_000 };
      harness.createMessages(contactId, old);
      await harness.sweep();
      expect(await harness.eventTypes()).toEqual([]);

      const ids = harness.createMessages(contactId, { count: 53, intervalMs: 10 });
      await harness.sweepUntil(
        'all messages are emitted',
        async () => (await messageEvents()).length >= ids.length,
      );
      expect(await messageEvents()).toEqual(received(ids));

      const sent = harness.createMessages(contactId, { direction: 'outbound', count: 3, text: 'out {n}' });
      await harness.sweepUntil(
        'all sends are emitted',
        async () => (await messageEvents()).length >= ids.length + 3,
      );
      harness.control('messages/flags', { ids: sent, delivered: true, read: true });
      await harness.sweepUntil(
        'all flags are emitted',
        async () => (await messageEvents()).length >= ids.length + 9,
      );
      await harness.sweep();
      expect(await messageEvents()).toEqual(
        [
          ...received(ids),
          ...sent.flatMap((id) => [`message.sent ${id}`, `message.delivered ${id}`, `message.read ${id}`]),
        ].sort(),
      );
      await expectGaplessSequences();
    });

    it('a message that arrives while a poll reads pages causes one event', async () => {
      const contactId = harness.createContact(NUMBER);
      await harness.sweep();
      const ids = harness.createMessages(contactId, { count: 30, intervalMs: 10 });
      harness.control('settings', { insertWhilePaging: 1 });
      await harness.sweep();
      harness.control('settings', { insertWhilePaging: 0 });
      const inserted = harness.simulator.ledger
        .read({ kinds: ['message.created'] })
        .entries.flatMap((entry) =>
          entry.kind === 'message.created' && entry.origin === 'insertWhilePaging' ? [entry.messageId] : [],
        );
      expect(inserted.length).toBeGreaterThan(1);
      const all = received([...ids, ...inserted]);
      await harness.sweepUntil(
        'all messages are emitted',
        async () => (await messageEvents()).length >= all.length,
      );
      expect(await messageEvents()).toEqual(all);
    });
  },
);

describe('a poll', () => {
  it.each([
    { pageIgnored: true },
    { limitCap: 3 },
    { limitCap: 4, missingPageStatus: 404 },
    { limitCap: 4, missingPageStatus: 404, order: 'oldestFirst' },
    { limitIgnored: true },
    { timestampFormat: 'absent' },
  ])('emits one event for every new message (simulator settings: %j)', async (settings) => {
    const contactId = harness.createContact(NUMBER);
    harness.createMessages(contactId, {
      count: 5,
      timestamp: Date.now() - 86_400_000 * 3,
      intervalMs: 1_000,
    });
    harness.control('settings', settings);
    await harness.sweep();
    const ids = harness.createMessages(contactId, { count: 12, intervalMs: 10 });
    await harness.sweepUntil('all messages are emitted', async () => (await messageEvents()).length >= 12);
    await harness.sweep();
    expect(await messageEvents()).toEqual(received(ids));
  });

  it('skips an unreadable element among the messages, and emits an event for every new message', async () => {
    const contactId = harness.createContact(NUMBER);
    await harness.sweep();
    const ids = harness.createMessages(contactId, { count: 4, intervalMs: 10 });
    harness.control('faults', {
      match: { contactId },
      fault: { kind: 'poisonMessage', garbage: 'noId', mode: 'insert' },
      times: 'always',
    });
    await harness.sweep();
    await harness.sweep();
    expect(await messageEvents()).toEqual(received(ids));
  });

  it.each(['status', 'html', 'emptyObject', 'errorBody200', 'truncatedJson', 'resetBefore'])(
    'that gets the upstream fault %s fails and changes nothing; the next poll emits an event for every new message',
    async (fault) => {
      const contactId = harness.createContact(NUMBER);
      harness.control('settings', { limitCap: 20 });
      await harness.sweep();
      const ids = harness.createMessages(contactId, { count: 30, intervalMs: 10 });
      harness.control('faults', { match: { path: 'page=2' }, fault });
      const before = await harness.store.contactState(ACCOUNT, contactId);
      await expect(harness.polls.poll(ACCOUNT, contactId)).rejects.toThrow();
      const after = await harness.store.contactState(ACCOUNT, contactId);
      expect({ ...after, now: 0, receivedAt: 0 }).toEqual({ ...before, now: 0, receivedAt: 0 });
      expect(await harness.eventTypes()).toEqual([]);
      await harness.sweep();
      expect(await messageEvents()).toEqual(received(ids));
    },
  );

  it('of an unchanged contact makes only one request once the order of its messages is known', async () => {
    const contactId = harness.createContact(NUMBER);
    harness.createMessages(contactId, { count: 60, intervalMs: 10 });
    await harness.sweep();
    const before = harness.countRequests(/messages/);
    await harness.polls.poll(ACCOUNT, contactId);
    expect(harness.countRequests(/messages/) - before).toBe(1);
    expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.order).toBe('newestFirst');
  });

  it('emits one message.updated if the text of a message is edited and an attachment is added between two polls', async () => {
    const contactId = harness.createContact(NUMBER);
    await harness.sweep();
    const [id] = harness.createMessages(contactId, { text: 'first' });
    await harness.sweep();
    harness.control('messages/edit', { id, message: 'second', attachments: [{ url: 'x' }] });
    await harness.sweep();
    expect(await messageEvents()).toEqual([`message.received ${id ?? ''}`, `message.updated ${id ?? ''}`]);
    const update = (await harness.deliveredEvents()).at(-1);
    expect(Object.keys(update?.data['changes'] as object).sort()).toEqual(['attachments', 'message']);
  });

  it('does nothing for a contact that was never in a contact list', async () => {
    expect(await harness.polls.poll(ACCOUNT, 'nobody')).toBe(false);
    expect(harness.countRequests(/./)).toBe(0);
  });

  it('emits message.created for a message with an undocumented direction', async () => {
    const contactId = harness.createContact(NUMBER);
    await harness.sweep();
    harness.createMessages(contactId, { direction: 'constructor' });
    await harness.sweep();
    expect(await harness.eventTypes()).toEqual(['message.created']);
  });
});

describe('two concurrent polls of one contact', () => {
  it('emit one event for each change, because the second commit is refused and its poll starts over', async () => {
    const contactId = harness.createContact(NUMBER);
    await harness.sweep();
    const ids = harness.createMessages(contactId, { count: 25, intervalMs: 10 });
    let waiting = 0;
    let heads = 0;
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    // Both polls have read their first page before either goes on.
    const source: FeedSource = {
      ...harness.source,
      listMessages: async (account, id, page, limit, purpose) => {
        const read = await harness.source.listMessages(account, id, page, limit, purpose);
        if (page === 1 && limit === 20) heads += 1;
        if (page === 1 && waiting < 2) {
          waiting += 1;
          if (waiting === 2) open();
          await gate;
        }
        return read;
      },
    };
    const [one, two] = [harness.poller(source), harness.poller(source)];
    expect(await Promise.all([one.poll(ACCOUNT, contactId), two.poll(ACCOUNT, contactId)])).toEqual([
      true,
      true,
    ]);
    expect(await messageEvents()).toEqual(received(ids));
    expect(heads).toBe(3);
    await expectGaplessSequences();
  });
});

/** Polls a contact. Returns the pages that were requested, each as `page/limit`. */
async function pagesOfPoll(contactId: string): Promise<string[]> {
  const pages: string[] = [];
  const counted: FeedSource = {
    ...harness.source,
    listMessages: (account, id, page, limit, purpose) => {
      pages.push(`${page}/${limit}`);
      return harness.source.listMessages(account, id, page, limit, purpose);
    },
  };
  await harness.poller(counted).poll(ACCOUNT, contactId);
  return pages;
}

describe('a read of older messages', () => {
  it('does not start over if concurrent reads of the newest messages find nothing new', async () => {
    harness.control('settings', { limitCap: 20 });
    const contactId = harness.createContact(NUMBER);
    const ids = harness.createMessages(contactId, {
      count: 70,
      timestamp: Date.now() - 3_600_000,
      intervalMs: 10,
    });
    const pages: string[] = [];
    // A read of the newest messages begins and ends during every page of the read of older messages.
    const beside: FeedSource = {
      ...harness.source,
      listMessages: async (account, id, page, limit, purpose) => {
        pages.push(`${page}/${limit}`);
        const read = await harness.source.listMessages(account, id, page, limit, purpose);
        await harness.polls.pollHead(account, id);
        return read;
      },
    };
    await harness.list.poll(ACCOUNT);
    await harness.polls.pollHead(ACCOUNT, contactId);
    const rateBefore = (await harness.store.contactState(ACCOUNT, contactId))?.extension.readAt ?? 0;
    expect(await harness.poller(beside).runDeepRead(ACCOUNT, contactId, 'poll')).toBe(true);
    const state = await harness.store.contactState(ACCOUNT, contactId);
    expect(state?.storedMessages).toBe(ids.length);
    expect(state?.extension.readAt).toBeGreaterThan(rateBefore);
    const again = pages.filter((page, i) => pages.indexOf(page) < i && !page.startsWith('1/'));
    expect(again).toEqual([]);
  });
});

describe('a read that checks older messages for changed flags', () => {
  it('is extended to all pages if it finds no known message, and then emits an event for every new message', async () => {
    harness.control('settings', { limitCap: 20 });
    const contactId = harness.createContact(NUMBER);
    harness.createMessages(contactId, { direction: 'outbound', count: 20, intervalMs: 10 });
    await harness.sweep();
    // One failed read of the full head: from now on, a shorter head is read.
    harness.control('faults', { match: { contactId }, fault: { kind: 'status', status: 500 }, times: 1 });
    await harness.sweep();
    // The new message appears below all known messages, while the head is empty.
    const [late] = harness.createMessages(contactId, { timestamp: Date.now() - 86_400_000 * 2 });
    harness.store.aheadMs = 60_000;
    expect((await harness.store.contactState(ACCOUNT, contactId))?.pollState.flagCheckDueAt).toBeLessThan(
      Date.now() + harness.store.aheadMs,
    );
    harness.control('faults', {
      match: { contactId },
      fault: { kind: 'errorBody200', body: { messages: [] } },
      times: 1,
    });
    await harness.polls.poll(ACCOUNT, contactId);
    expect(await messageEvents()).toContain(`message.received ${late ?? ''}`);
    await expectGaplessSequences();
  });

  it('includes the message just before the newest messages, even if the list has become shorter since the last read', async () => {
    harness.control('settings', { order: 'oldestFirst', limitCap: 20 });
    const contactId = harness.createContact(NUMBER);
    const now = Date.now();
    const create = (count: number, ageMs: number, isDone: boolean): string[] =>
      harness.createMessages(contactId, {
        ...{ direction: 'outbound', count, timestamp: now - ageMs, delivered: isDone, read: isDone },
      });
    create(12, 3_000, true);
    const [unsettled] = create(1, 2_000, false);
    create(5, 1_000, true);
    const fault = { kind: 'poisonMessage', garbage: 'noId', mode: 'insert' };
    harness.control('faults', { match: { contactId }, fault, times: 'always' });
    await harness.sweep();
    await harness.polls.poll(ACCOUNT, contactId);
    harness.control('faults/clear');
    harness.control('messages/flags', { id: unsettled, delivered: true });
    harness.store.aheadMs = 60_000;
    const pages = await pagesOfPoll(contactId);
    // With the unreadable element, the list was longer. The head then began with the 14th message.
    expect(pages).toEqual(['2/13', '2/12']);
    expect(await messageEvents()).toContain(`message.delivered ${unsettled ?? ''}`);
  });
});

describe('a read of all pages that finds a new message on the first page', () => {
  it('does not cause another read of all pages', async () => {
    const contactId = harness.createContact(NUMBER);
    harness.createMessages(contactId, { count: 45, timestamp: Date.now() - 3_600_000, intervalMs: 10 });
    await harness.sweep();
    const ids = harness.createMessages(contactId, { count: 1 });
    await harness.poller(harness.source, 'silent', { sweepMs: 0 }).runDeepRead(ACCOUNT, contactId, 'poll');
    expect(await messageEvents()).toEqual(received(ids));
    const pages = await pagesOfPoll(contactId);
    expect(pages).toEqual(['1/20']);
  });
});

describe('the first read of a contact', () => {
  it('emits an event for every message except those more than one minute older than the first contact list, if that list contains the contact', async () => {
    const contactId = harness.createContact(NUMBER);
    harness.createMessages(contactId, { text: 'old', timestamp: Date.now() - 70_000 });
    const [fresh] = harness.createMessages(contactId, { text: 'fresh', timestamp: Date.now() - 50_000 });
    await harness.list.poll(ACCOUNT);
    const [later] = harness.createMessages(contactId, { text: 'while the others are read' });
    await harness.polls.poll(ACCOUNT, contactId);
    expect(await messageEvents()).toEqual(received([fresh ?? '', later ?? '']));
  });

  it('emits an event for every message of a new contact except those more than one day older than the last contact list without the contact', async () => {
    await harness.list.poll(ACCOUNT);
    const contactId = harness.createContact(NUMBER);
    harness.createMessages(contactId, { text: 'years ago', timestamp: Date.now() - 86_400_000 * 700 });
    const [fresh] = harness.createMessages(contactId, { text: 'fresh', timestamp: Date.now() - 3_600_000 });
    await harness.sweep();
    expect(await messageEvents()).toEqual(received([fresh ?? '']));
  });

  it.each([
    ['silent', 0],
    ['emit', 3],
  ] as const)(
    'with the setting `undated: %s` emits %d events for 3 messages that have no timestamp',
    async (undated, count) => {
      harness.control('settings', { timestampFormat: 'absent' });
      const contactId = harness.createContact(NUMBER);
      harness.createMessages(contactId, { count: 3 });
      await harness.list.poll(ACCOUNT);
      await harness.poller(harness.source, undated).poll(ACCOUNT, contactId);
      expect(await messageEvents()).toHaveLength(count);
    },
  );
});
