import { describe, expect, it } from '@jest/globals';
import {
  CONTACT_ID,
  FakeAccount,
  type FakeListing,
  fakeMessage,
  PHONE_NUMBER,
  seededRandom,
} from './fixtures/fake-account.js';
import { UnsortedMessageListCache } from './unsorted-message-list-reader.js';
import type { TimelineMessage } from './ports.js';
import { Timeline, type TimelinePage } from './timeline.js';
import { parseTimelineCursor } from './timeline-cursor.js';

const NEWEST_FIRST: FakeListing = { order: 'newestFirst', maxLimit: 20 };
const CONVERSATION = { id: CONTACT_ID, contactId: CONTACT_ID, phoneNumbers: [PHONE_NUMBER], last: undefined };

type Page = TimelinePage<{ id: string }>;

/** Returns an account with messages `m0` (oldest) to `m<count - 1>`, a minute apart and all committed. */
function accountWith(count: number, listing: FakeListing = NEWEST_FIRST): FakeAccount {
  const account = new FakeAccount(listing);
  for (let i = 0; i < count; i += 1) {
    const one = fakeMessage(`m${i}`, account.now - (count - i) * 60_000);
    account.insert(one, () => (i * 0.37) % 1);
    account.commit(one);
  }
  account.length = count;
  return account;
}

/** Returns an account with 100 messages, of which 20 are unreadable, from this index of upstream's list. */
function accountWithUnreadable(order: FakeListing['order'], index: number): FakeAccount {
  const account = accountWith(100, { order, maxLimit: 20 });
  for (const { id } of account.list.slice(index, index + 20)) {
    account.unreadable.add(id);
    account.known.delete(id);
  }
  account.log.length = 0;
  return account;
}

function idsOf({ entries }: Page): string[] {
  return entries.map((entry) => (entry.kind === 'send' ? entry.send.id : String(entry.message['id'])));
}

async function all(account: FakeAccount, limit = 20, timeline = new Timeline(account)): Promise<Page[]> {
  const pages: Page[] = [];
  do {
    pages.push(await timeline.read('a', CONVERSATION, limit, parseTimelineCursor(pages.at(-1)?.next)));
  } while (pages.at(-1)?.next !== undefined && pages.length < 1_000);
  return pages;
}

const newestFirst = (count: number): string[] => Array.from({ length: count }, (_, i) => `m${count - 1 - i}`);

describe('The timeline of a short conversation', () => {
  it.each(['newestFirst', 'oldestFirst', 'unsorted', 'unknown'] as const)(
    'is read with one upstream request, whatever the order of the list is: %s',
    async (order) => {
      const account = accountWith(7, { order, maxLimit: 20 });
      const pages = await all(account);
      expect(pages.map(idsOf)).toEqual([newestFirst(7)]);
      expect(account.requests).toBe(1);
    },
  );

  it('has an empty page if there are no messages', async () => {
    expect((await all(accountWith(0))).map(idsOf)).toEqual([[]]);
  });
});

describe('The timeline of a long conversation', () => {
  it.each([
    { order: 'newestFirst', maxLimit: 20 },
    { order: 'newestFirst', maxLimit: 100 },
    { order: 'oldestFirst', maxLimit: 20 },
    { order: 'oldestFirst', maxLimit: 100 },
  ] as const)(
    "is read with at most 12 upstream requests per 10 pages if the order of upstream's list is known: %j",
    async (listing) => {
      const account = accountWith(1_000, listing);
      const timeline = new Timeline(account);
      let next: string | undefined;
      for (let calls = 1; calls <= 10; calls += 1) {
        ({ next } = await timeline.read('a', CONVERSATION, 20, parseTimelineCursor(next)));
        if (calls === 1) expect(account.requests).toBe(1);
      }
      expect(account.requests).toBeLessThanOrEqual(12);
    },
  );
});

describe('A timeline page with long texts', () => {
  it('ends before its entries exceed 4 million characters, and the next pages have the other entries', async () => {
    const account = accountWith(0);
    for (let i = 0; i < 20; i += 1) {
      const one = fakeMessage(`m${i}`, account.now - (20 - i) * 60_000);
      const long = { ...one, raw: { ...one.raw, message: 'x'.repeat(500_000) } };
      account.insert(long);
      account.commit(long);
    }
    account.length = 20;
    const pages = await all(account);
    expect(pages.map(({ entries }) => entries.length)).toEqual([7, 7, 6]);
    expect(pages.flatMap(idsOf)).toEqual(newestFirst(20));
  });
});

describe("The end of upstream's list of messages", () => {
  it.each([
    ['the length is not known', { length: 0, fullPage: 0 }],
    ['the list has become shorter', { length: 60 }],
    ['upstream returns shorter pages than before', { maxLimit: 100, fullPage: 100 }],
  ])('is found if %s', async (_, learned) => {
    for (const order of ['newestFirst', 'oldestFirst'] as const) {
      const account = accountWith(47, { order, maxLimit: 20 });
      account.learned = learned;
      expect((await all(account)).flatMap(idsOf)).toEqual(newestFirst(47));
    }
  });
});

describe('A list of messages that cannot be read in order of time', () => {
  it('is read completely, and then sorted in memory', async () => {
    const account = accountWith(150, { order: 'unsorted', maxLimit: 20 });
    account.learned = { order: 'newestFirst' };
    const pages = await all(account);
    expect(pages.flatMap(idsOf)).toEqual(newestFirst(150));
    expect(pages[0]?.entries).toEqual([]);
  });

  it('is shown with the messages without a timestamp last, in descending order of their ids', async () => {
    const account = accountWith(3);
    for (const id of ['x', 'z', 'y']) {
      const one = fakeMessage(id, undefined);
      account.list.unshift(one);
      account.commit(one);
    }
    expect((await all(account, 2)).flatMap(idsOf)).toEqual(['m2', 'm1', 'm0', 'z', 'y', 'x']);
  });

  it('is sorted in memory if too many messages for one page of the timeline have the same timestamp', async () => {
    const account = new FakeAccount(NEWEST_FIRST);
    for (let i = 0; i < 300; i += 1) account.insert(fakeMessage(`m${String(i).padStart(3, '0')}`, 5_000));
    for (const one of account.list) account.commit(one);
    account.length = 300;
    const ids = (await all(account)).flatMap(idsOf);
    expect(ids).toEqual(
      account.list
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
  });
});

describe('A page of messages with unreadable elements only', () => {
  it.each([
    ['newestFirst', 0],
    ['newestFirst', 7],
    ['newestFirst', 40],
    ['newestFirst', 80],
    ['oldestFirst', 0],
    ['oldestFirst', 33],
    ['oldestFirst', 40],
    ['oldestFirst', 80],
  ] as const)(
    'is skipped without a read of the whole list if the list is %s and the page begins at index %d',
    async (order, index) => {
      const account = accountWithUnreadable(order, index);
      const pages = await all(account);
      expect(pages.flatMap(idsOf)).toEqual(newestFirst(100).filter((id) => !account.unreadable.has(id)));
      expect(pages.map(({ next }) => parseTimelineCursor(next)?.hasNoOrder)).not.toContain(true);
    },
  );

  it.each([
    ['newestFirst', 0],
    ['newestFirst', 40],
    ['newestFirst', 80],
    ['oldestFirst', 0],
    ['oldestFirst', 40],
    ['oldestFirst', 80],
    ['unsorted', 0],
    ['unsorted', 40],
    ['unsorted', 80],
  ] as const)('is skipped if the list is %s and the page begins at index %d', async (order, index) => {
    const account = accountWithUnreadable(order, index);
    const pages = await all(account);
    expect(pages.flatMap(idsOf)).toEqual(newestFirst(100).filter((id) => !account.unreadable.has(id)));
    expect(pages.length).toBeLessThan(10);
  });

  it.each(['newestFirst', 'oldestFirst'] as const)(
    'is not read again and again if the newest 100 elements are unreadable and the list is %s',
    async (order) => {
      const account = accountWith(200, { order, maxLimit: 20 });
      for (const id of newestFirst(200).slice(0, 100)) {
        account.unreadable.add(id);
        account.known.delete(id);
      }
      account.log.length = 0;
      const pages = await all(account);
      expect(pages.flatMap(idsOf)).toEqual(newestFirst(100));
      expect(account.requests).toBeLessThanOrEqual(20);
      expect(pages.findIndex(({ entries }) => entries.length > 0)).toBeLessThanOrEqual(4);
    },
  );

  it('is not read endlessly if upstream ignores the page number', async () => {
    const account = accountWith(50, { order: 'unsorted', maxLimit: 20 });
    account.pages.read = () => Promise.resolve({ items: [], count: 20 });
    account.log.length = 0;
    expect((await all(account)).length).toBeLessThan(10);
  });
});

describe('A timeline of messages that upstream lists in no order', () => {
  it('reads all messages repeatedly until every known message is found, but not endlessly if a message no longer exists', async () => {
    const random = seededRandom(1);
    const shuffles = (list: readonly TimelineMessage[]): TimelineMessage[] =>
      list
        .map((one) => ({ one, key: random() }))
        .sort((a, b) => a.key - b.key)
        .map(({ one }) => one);
    const account = accountWith(150, { order: 'unsorted', maxLimit: 20, shuffles });
    account.known.set('gone', 'present');
    expect((await all(account)).flatMap(idsOf)).toEqual(newestFirst(150));
  });

  it('keeps the messages in memory for ten minutes, and updates them from the event log', async () => {
    let now = 1_000;
    const account = accountWith(150, { order: 'unsorted', maxLimit: 20 });
    const timeline = new Timeline(account, new UnsortedMessageListCache(() => now));
    await all(account, 20, timeline);
    const { requests } = account;
    const fresh = fakeMessage('m150', account.now);
    account.insert(fresh);
    account.commit(fresh);
    account.commitDeletion('m149');
    const [page] = await all(account, 20, timeline);
    expect(page && idsOf(page).slice(0, 2)).toEqual(['m150', 'm148']);
    expect(account.requests).toBe(requests);
    now += 600_001;
    await all(account, 20, timeline);
    expect(account.requests).toBeGreaterThan(requests);
  });

  it('keeps the messages of each account separate, even if two accounts have a contact with the same id', () => {
    const readings = new UnsortedMessageListCache();
    const reading = readings.begin('a', CONTACT_ID, 'cursor');
    expect(readings.get('b', CONTACT_ID)).toBeUndefined();
    readings.drop('b', CONTACT_ID);
    expect(readings.get('a', CONTACT_ID)).toBe(reading);
  });

  it('reads all messages again if the event log no longer contains all events since the read began', async () => {
    const account = accountWith(50, { order: 'unsorted', maxLimit: 20 });
    const timeline = new Timeline(account);
    await all(account, 20, timeline);
    const changesSince = account.events.changesSince;
    let calls = 0;
    Object.assign(account.events, {
      changesSince: (...args: Parameters<typeof changesSince>) =>
        (calls += 1) === 1 ? Promise.resolve(undefined) : changesSince(...args),
    });
    expect((await all(account, 20, timeline)).flatMap(idsOf)).toEqual(newestFirst(50));
  });
});

describe('A contact whose messages are too many to be sorted in memory', () => {
  it('has a partial timeline; a second request for the timeline makes no upstream request', async () => {
    const account = accountWith(200, { order: 'unsorted', maxLimit: 100 });
    account.list = account.list.map((one) => ({ ...one, raw: { id: one.id, message: 'x'.repeat(100_000) } }));
    const timeline = new Timeline(account);
    const page = await timeline.read('a', CONVERSATION, 20);
    expect(page).toMatchObject({ entries: [], next: undefined, isPartial: true });
    const { requests } = account;
    expect(await timeline.read('a', CONVERSATION, 20)).toMatchObject({ isPartial: true });
    expect(account.requests).toBe(requests);
  });
});

describe('A message that no poll has committed yet', () => {
  it('is not shown, and its contact becomes due for polling', async () => {
    const account = accountWith(5);
    account.known.delete('m4');
    account.known.set('m3', 'deleted');
    expect((await all(account)).flatMap(idsOf)).toEqual(['m2', 'm1', 'm0']);
    expect(account.madeDue).toBe(1);
  });
});

describe('A send', () => {
  it('is shown at its creation time until a poll commits its message; then the message is shown instead, at the timestamp of the message', async () => {
    const account = accountWith(5);
    const at = account.now - 150_000;
    const send = account.send('snd_1', { createdAt: at, reference: 'r' });
    expect((await all(account)).flatMap(idsOf)).toEqual(['m4', 'm3', 'snd_1', 'm2', 'm1', 'm0']);
    account.bind(send, 'm4', -1);
    const [page] = await all(account);
    expect(page && idsOf(page)).toEqual(['m4', 'm3', 'm2', 'm1', 'm0']);
    expect(page?.entries[0]).toMatchObject({ send: { id: 'snd_1', status: 'sent', reference: 'r' } });
    account.known.delete('m4');
    expect((await all(account)).flatMap(idsOf)).toEqual(['m3', 'snd_1', 'm2', 'm1', 'm0']);
  });

  it('whose message was identified less than a minute ago is shown as that message, at the creation time of the send', async () => {
    const account = accountWith(5);
    const send = account.send('snd_1', { createdAt: account.now - 150_000 });
    account.bind(send, 'm4');
    const [page] = await all(account);
    expect(page && idsOf(page)).toEqual(['m3', 'm4', 'm2', 'm1', 'm0']);
    account.now += 61_000;
    const [later] = await all(account);
    expect(later && idsOf(later)).toEqual(['m4', 'm3', 'm2', 'm1', 'm0']);
  });

  it('is shown at its sendAt if it is scheduled, and not at all if it is cancelled', async () => {
    const account = accountWith(2);
    const createdAt = account.now - 300_000;
    account.send('snd_failed', { createdAt, status: 'failed' });
    account.send('snd_later', { createdAt, status: 'scheduled', sendAt: account.now + 1_000 });
    account.send('snd_cancelled', { createdAt, status: 'cancelled' });
    const [page] = await all(account);
    expect(page && idsOf(page)).toEqual(['snd_later', 'm1', 'm0', 'snd_failed']);
    expect(page?.entries[0]).toMatchObject({ kind: 'send', scheduled: true });
  });

  it('is the only kind of entry in a conversation without a contact', async () => {
    const account = accountWith(2);
    for (let i = 0; i < 450; i += 1) account.send(`snd_${i}`, { createdAt: account.now + i });
    const timeline = new Timeline(account);
    const ids: string[] = [];
    let next: string | undefined;
    do {
      const conversation = { ...CONVERSATION, id: PHONE_NUMBER, contactId: undefined };
      const page = await timeline.read('a', conversation, 20, parseTimelineCursor(next));
      ids.push(...idsOf(page));
      next = page.next;
    } while (next !== undefined);
    expect(ids).toEqual(Array.from({ length: 450 }, (_, i) => `snd_${449 - i}`));
    expect(account.requests).toBe(0);
  });
});

describe('While upstream is unavailable', () => {
  it('a timeline page has the sends and the preview of the last message, and is marked as partial', async () => {
    const account = accountWith(5);
    account.isAway = true;
    account.send('snd_1', { createdAt: account.now - 1_000 });
    const last = { id: 'm4', at: account.now - 60_000, direction: 'inbound' as const, preview: 'Hello' };
    const page = await new Timeline(account).read('a', { ...CONVERSATION, last }, 20);
    expect(page).toMatchObject({ isPartial: true, next: undefined });
    expect(idsOf(page)).toEqual(['snd_1', 'm4']);
    expect(page.entries[1]).toMatchObject({ message: { message: 'Hello', direction: 'inbound' } });
  });

  it('a timeline page has the messages that were read before the outage, and a cursor for the next page', async () => {
    const account = accountWith(100);
    const { read } = account.pages;
    Object.assign(account.pages, {
      read: (...args: Parameters<typeof read>) => {
        account.isAway = account.requests > 0;
        return read(...args);
      },
    });
    const page = await new Timeline(account).read('a', CONVERSATION, 100);
    expect(page).toMatchObject({ isPartial: false, next: expect.any(String) });
    expect(idsOf(page)).toEqual(newestFirst(100).slice(0, 19));
  });
});

describe('While upstream answers slowly', () => {
  /** Returns a timeline whose upstream requests take the given times, in milliseconds, and then 1 s each. */
  function slowTimeline(account: FakeAccount, ...tookMs: number[]): Timeline<{ id: string }> {
    let now = 0;
    const { read } = account.pages;
    Object.assign(account.pages, {
      read: async (...args: Parameters<typeof read>) => {
        await Promise.resolve();
        now += tookMs.shift() ?? 1_000;
        return read(...args);
      },
    });
    return new Timeline(account, new UnsortedMessageListCache(() => now), () => now);
  }

  it.each(['newestFirst', 'oldestFirst'] as const)(
    'a timeline page begins no upstream request after 25 seconds: it has the messages that were read, and a cursor (%s)',
    async (order) => {
      const account = accountWith(100, { order, maxLimit: 20 });
      const timeline = slowTimeline(account, 15_000, 15_000);
      const page = await timeline.read('a', CONVERSATION, 100);
      expect(account.requests).toBe(2);
      expect(page).toMatchObject({ isPartial: false, next: expect.any(String) });
      const ids = idsOf(page);
      expect(ids.length).toBeGreaterThan(20);
      expect(ids).toEqual(newestFirst(100).slice(0, ids.length));
      const cursor = parseTimelineCursor(page.next);
      expect(idsOf(await timeline.read('a', CONVERSATION, 20, cursor))[0]).toBe(newestFirst(100)[ids.length]);
    },
  );

  it('a timeline page has a cursor even if upstream returns smaller pages than it returned before', async () => {
    const account = accountWith(100, { order: 'newestFirst', maxLimit: 30 });
    account.learned = { maxLimit: 100, fullPage: 100 };
    const timeline = slowTimeline(account, 15_000, 15_000);
    const page = await timeline.read('a', CONVERSATION, 100);
    expect(account.requests).toBe(2);
    expect(page).toMatchObject({ isPartial: false, next: expect.any(String) });
    expect((await all(account, 20, timeline)).flatMap(idsOf)).toEqual(newestFirst(100));
  });

  it('the next request for the timeline continues an unfinished read of an unsorted list of messages', async () => {
    const account = accountWith(150, { order: 'unsorted', maxLimit: 20 });
    const timeline = slowTimeline(account, 15_000, 15_000);
    const page = await timeline.read('a', CONVERSATION, 20);
    expect(account.requests).toBe(2);
    expect(page).toMatchObject({ entries: [], isPartial: false, next: expect.any(String) });
    expect((await all(account, 20, timeline)).flatMap(idsOf)).toEqual(newestFirst(150));
  });

  it('simultaneous requests for a timeline share the upstream requests, and each returns a page with a cursor', async () => {
    const account = accountWith(150, { order: 'unsorted', maxLimit: 20 });
    const timeline = slowTimeline(account, 0, 0, 0, 0, 0, 15_000, 15_000);
    await timeline.read('a', CONVERSATION, 20);
    const before = account.requests;
    const pages = await Promise.all([1, 2, 3].map(() => timeline.read('a', CONVERSATION, 20)));
    expect(account.requests - before).toBe(2);
    for (const page of pages) expect(page).toMatchObject({ isPartial: false, next: expect.any(String) });
  });

  it('a timeline page has the messages of its first upstream request, however long that takes', async () => {
    const account = accountWith(100);
    const page = await slowTimeline(account, 40_000).read('a', CONVERSATION, 100);
    expect(account.requests).toBe(1);
    expect(idsOf(page)).toEqual(newestFirst(100).slice(0, 19));
  });
});

describe('The event log cursor of a page', () => {
  it('is read before the messages, so that a client misses no event if it continues from this cursor', async () => {
    const account = accountWith(5);
    const late = fakeMessage('late', account.now);
    account.feed.listShape = () => {
      account.commit(late);
      return Promise.resolve({ order: 'newestFirst', maxLimit: 20, fullPage: 20, length: 5 });
    };
    expect((await new Timeline(account).read('a', CONVERSATION, 20)).after).toBe('5');
  });
});

describe('A timeline cursor', () => {
  it.each([
    '',
    'abc',
    '%',
    Buffer.from('{}').toString('base64url'),
    Buffer.from('{"v":1}').toString('base64url'),
    Buffer.from('{"v":1,"t":1,"i":"x"}').toString('base64url'),
    Buffer.from('{"v":1,"t":1,"a":"x"}').toString('base64url'),
    Buffer.from('{"v":1,"t":1,"x":-1}').toString('base64url'),
    Buffer.from('{"v":1,"t":1,"x":1000000001}').toString('base64url'),
    Buffer.from('{"v":1,"t":1,"f":0}').toString('base64url'),
    Buffer.from('{"v":2,"t":1}').toString('base64url'),
    Buffer.from('null').toString('base64url'),
    7,
  ])('is rejected if it is %j', (text) => {
    expect(parseTimelineCursor(text)).toBeUndefined();
  });
});
