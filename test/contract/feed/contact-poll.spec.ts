import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type FeedSource } from '#feed';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { A, House } from './house.js';

const NUMBER = '+15551234567';

let server: TestRedis;
let house: House;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  house = await House.open(server.url);
});
afterEach(async () => {
  await house.close();
});

/** Returns the message events as sorted lines `type id`. */
async function messageEvents(): Promise<string[]> {
  const events = (await house.told()).filter(({ type }) => type.startsWith('message.'));
  return events.map(({ type, data }) => `${type} ${String((data['message'] as { id: unknown }).id)}`).sort();
}
const received = (ids: readonly string[]): string[] => ids.map((id) => `message.received ${id}`).sort();

async function expectGaplessSequences(): Promise<void> {
  const next = new Map<string, number>();
  for (const { contactId, sequence } of await house.told()) {
    expect(sequence).toBe((next.get(contactId) ?? 0) + 1);
    next.set(contactId, sequence);
  }
}

describe.each(['newestFirst', 'oldestFirst', 'random'] as const)('with messages in order %s,', (order) => {
  beforeEach(() => {
    house.control('settings', { order });
  });

  it('each new message and each flag is emitted once', async () => {
    const contactId = house.contact(NUMBER);
    const old = { count: 45, timestamp: Date.now() - 86_400_000 * 3, intervalMs: 1_000 };
    house.messages(contactId, old);
    await house.sweep();
    expect(await house.types()).toEqual([]);

    const ids = house.messages(contactId, { count: 53, intervalMs: 10 });
    await house.sweepUntil(
      'all messages are emitted',
      async () => (await messageEvents()).length >= ids.length,
    );
    expect(await messageEvents()).toEqual(received(ids));

    const sent = house.messages(contactId, { direction: 'outbound', count: 3, text: 'out {n}' });
    await house.sweepUntil(
      'all sends are emitted',
      async () => (await messageEvents()).length >= ids.length + 3,
    );
    house.control('messages/flags', { ids: sent, delivered: true, read: true });
    await house.sweepUntil(
      'all flags are emitted',
      async () => (await messageEvents()).length >= ids.length + 9,
    );
    await house.sweep();
    expect(await messageEvents()).toEqual(
      [
        ...received(ids),
        ...sent.flatMap((id) => [`message.sent ${id}`, `message.delivered ${id}`, `message.read ${id}`]),
      ].sort(),
    );
    await expectGaplessSequences();
  });

  it('a message that arrives while pages are read is emitted once', async () => {
    const contactId = house.contact(NUMBER);
    await house.sweep();
    const ids = house.messages(contactId, { count: 30, intervalMs: 10 });
    house.control('settings', { insertWhilePaging: 1 });
    await house.sweep();
    house.control('settings', { insertWhilePaging: 0 });
    const inserted = house.simulator.ledger
      .read({ kinds: ['message.created'] })
      .entries.flatMap((entry) =>
        entry.kind === 'message.created' && entry.origin === 'insertWhilePaging' ? [entry.messageId] : [],
      );
    expect(inserted.length).toBeGreaterThan(1);
    const all = received([...ids, ...inserted]);
    await house.sweepUntil(
      'all messages are emitted',
      async () => (await messageEvents()).length >= all.length,
    );
    expect(await messageEvents()).toEqual(all);
  });
});

describe('a poll', () => {
  it.each([{ pageIgnored: true }, { limitCap: 3 }, { limitIgnored: true }, { timestampFormat: 'absent' }])(
    'emits new messages if upstream behaves as %j',
    async (settings) => {
      const contactId = house.contact(NUMBER);
      house.messages(contactId, { count: 5, timestamp: Date.now() - 86_400_000 * 3, intervalMs: 1_000 });
      house.control('settings', settings);
      await house.sweep();
      const ids = house.messages(contactId, { count: 12, intervalMs: 10 });
      await house.sweepUntil('all messages are emitted', async () => (await messageEvents()).length >= 12);
      await house.sweep();
      expect(await messageEvents()).toEqual(received(ids));
    },
  );

  it('skips an unreadable element and emits all other messages', async () => {
    const contactId = house.contact(NUMBER);
    await house.sweep();
    const ids = house.messages(contactId, { count: 4, intervalMs: 10 });
    house.control('faults', {
      match: { contactId },
      fault: { kind: 'poisonMessage', garbage: 'noId', mode: 'insert' },
      times: 'always',
    });
    await house.sweep();
    await house.sweep();
    expect(await messageEvents()).toEqual(received(ids));
  });

  it.each(['status', 'html', 'emptyObject', 'errorBody200', 'truncatedJson', 'resetBefore'])(
    'that gets the fault %s fails and changes nothing; the next poll emits everything',
    async (fault) => {
      const contactId = house.contact(NUMBER);
      house.control('settings', { limitCap: 20 });
      await house.sweep();
      const ids = house.messages(contactId, { count: 30, intervalMs: 10 });
      house.control('faults', { match: { path: 'page=2' }, fault });
      const before = await house.store.contactState(A, contactId);
      await expect(house.polls.poll(A, contactId)).rejects.toThrow();
      expect({ ...(await house.store.contactState(A, contactId)), now: 0 }).toEqual({ ...before, now: 0 });
      expect(await house.types()).toEqual([]);
      await house.sweep();
      expect(await messageEvents()).toEqual(received(ids));
    },
  );

  it('of an unchanged contact costs one request and emits nothing, once the order is known', async () => {
    const contactId = house.contact(NUMBER);
    house.messages(contactId, { count: 60, intervalMs: 10 });
    await house.sweep();
    const before = house.requests(/messages/);
    await house.polls.poll(A, contactId);
    expect(house.requests(/messages/) - before).toBe(1);
    expect((await house.store.contactState(A, contactId))?.memory.order).toBe('newestFirst');
  });

  it('emits an edited text and a late attachment as updates', async () => {
    const contactId = house.contact(NUMBER);
    await house.sweep();
    const [id] = house.messages(contactId, { text: 'first' });
    await house.sweep();
    house.control('messages/edit', { id, message: 'second', attachments: [{ url: 'x' }] });
    await house.sweep();
    expect(await messageEvents()).toEqual([`message.received ${id ?? ''}`, `message.updated ${id ?? ''}`]);
    const update = (await house.told()).at(-1);
    expect(Object.keys(update?.data['changes'] as object).sort()).toEqual(['attachments', 'message']);
  });

  it('of a contact that no list has contained does nothing', async () => {
    expect(await house.polls.poll(A, 'nobody')).toBe(false);
    expect(house.requests(/./)).toBe(0);
  });

  it('emits message.created for a message with an undocumented direction', async () => {
    const contactId = house.contact(NUMBER);
    await house.sweep();
    house.messages(contactId, { direction: 'constructor' });
    await house.sweep();
    expect(await house.types()).toEqual(['message.created']);
  });
});

describe('two concurrent polls of one contact', () => {
  it('emit each change once: the second poll starts over', async () => {
    const contactId = house.contact(NUMBER);
    await house.sweep();
    const ids = house.messages(contactId, { count: 25, intervalMs: 10 });
    let waiting = 0;
    let heads = 0;
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    // Both polls have read their first page before either goes on.
    const source: FeedSource = {
      ...house.source,
      listMessages: async (account, id, page, limit, purpose) => {
        const read = await house.source.listMessages(account, id, page, limit, purpose);
        if (page === 1 && limit === 20) heads += 1;
        if (page === 1 && waiting < 2) {
          waiting += 1;
          if (waiting === 2) open();
          await gate;
        }
        return read;
      },
    };
    const [one, two] = [house.poller(source), house.poller(source)];
    expect(await Promise.all([one.poll(A, contactId), two.poll(A, contactId)])).toEqual([true, true]);
    expect(await messageEvents()).toEqual(received(ids));
    expect(heads).toBe(3);
    await expectGaplessSequences();
  });
});

describe('a deep read', () => {
  it('loses no page to concurrent head reads without news', async () => {
    house.control('settings', { limitCap: 20 });
    const contactId = house.contact(NUMBER);
    const ids = house.messages(contactId, { count: 70, timestamp: Date.now() - 3_600_000, intervalMs: 10 });
    const pages: string[] = [];
    // A head read begins and ends during every page of the deep read.
    const beside: FeedSource = {
      ...house.source,
      listMessages: async (account, id, page, limit, purpose) => {
        pages.push(`${page}/${limit}`);
        const read = await house.source.listMessages(account, id, page, limit, purpose);
        await house.polls.pollHead(account, id);
        return read;
      },
    };
    await house.list.poll(A);
    await house.polls.pollHead(A, contactId);
    const rateBefore = (await house.store.contactState(A, contactId))?.extension.readAt ?? 0;
    expect(await house.poller(beside).readDeep(A, contactId, 'poll')).toBe(true);
    const state = await house.store.contactState(A, contactId);
    expect(state?.stored).toBe(ids.length);
    expect(state?.extension.readAt).toBeGreaterThan(rateBefore);
    const again = pages.filter((page, i) => pages.indexOf(page) < i && !page.startsWith('1/'));
    expect(again).toEqual([]);
  });
});

describe('a look-up of messages whose flags may still change', () => {
  it('that meets a page without known messages reads all pages and emits their messages', async () => {
    house.control('settings', { limitCap: 20 });
    const contactId = house.contact(NUMBER);
    house.messages(contactId, { direction: 'outbound', count: 20, intervalMs: 10 });
    await house.sweep();
    // One failed read of the full head: from now on, a shorter head is read.
    house.control('faults', { match: { contactId }, fault: { kind: 'status', status: 500 }, times: 1 });
    await house.sweep();
    // The new message appears below all known messages, while the head is empty.
    const [late] = house.messages(contactId, { timestamp: Date.now() - 86_400_000 * 2 });
    house.store.aheadMs = 60_000;
    expect((await house.store.contactState(A, contactId))?.memory.lookDueAt).toBeLessThan(
      Date.now() + house.store.aheadMs,
    );
    house.control('faults', {
      match: { contactId },
      fault: { kind: 'errorBody200', body: { messages: [] } },
      times: 1,
    });
    await house.polls.poll(A, contactId);
    expect(await messageEvents()).toContain(`message.received ${late ?? ''}`);
    await expectGaplessSequences();
  });
});

describe('a deep read of all pages that finds a new message at the head', () => {
  it('leaves no reason for another deep read', async () => {
    const contactId = house.contact(NUMBER);
    house.messages(contactId, { count: 45, timestamp: Date.now() - 3_600_000, intervalMs: 10 });
    await house.sweep();
    const ids = house.messages(contactId, { count: 1 });
    await house.poller(house.source, 'silent', { sweepMs: 0 }).readDeep(A, contactId, 'poll');
    expect(await messageEvents()).toEqual(received(ids));
    const pages: string[] = [];
    const counted: FeedSource = {
      ...house.source,
      listMessages: (account, id, page, limit, purpose) => {
        pages.push(`${page}/${limit}`);
        return house.source.listMessages(account, id, page, limit, purpose);
      },
    };
    await house.poller(counted).poll(A, contactId);
    expect(pages).toEqual(['1/20']);
  });
});

describe('the first read of a contact', () => {
  it('on the first list emits messages stamped up to a minute before the account was added', async () => {
    const contactId = house.contact(NUMBER);
    house.messages(contactId, { text: 'old', timestamp: Date.now() - 70_000 });
    const [fresh] = house.messages(contactId, { text: 'fresh', timestamp: Date.now() - 50_000 });
    await house.list.poll(A);
    const [later] = house.messages(contactId, { text: 'while the others are read' });
    await house.polls.poll(A, contactId);
    expect(await messageEvents()).toEqual(received([fresh ?? '', later ?? '']));
  });

  it('on a later list emits messages stamped up to a day before the previous list', async () => {
    await house.list.poll(A);
    const contactId = house.contact(NUMBER);
    house.messages(contactId, { text: 'years ago', timestamp: Date.now() - 86_400_000 * 700 });
    const [fresh] = house.messages(contactId, { text: 'fresh', timestamp: Date.now() - 3_600_000 });
    await house.sweep();
    expect(await messageEvents()).toEqual(received([fresh ?? '']));
  });

  it.each([
    ['silent', 0],
    ['emit', 3],
  ] as const)('with `undated: %s` emits %d of three messages without a timestamp', async (undated, count) => {
    house.control('settings', { timestampFormat: 'absent' });
    const contactId = house.contact(NUMBER);
    house.messages(contactId, { count: 3 });
    await house.list.poll(A);
    await house.poller(house.source, undated).poll(A, contactId);
    expect(await messageEvents()).toHaveLength(count);
  });
});
