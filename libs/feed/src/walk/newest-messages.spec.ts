import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type MessagePage,
  type UpstreamMessage,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnavailableError,
} from '#upstream';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { HeadPlan } from './head-plan.js';
import type { HeadWalk } from './head-walk.js';
import { readNewestMessages } from './newest-messages.js';
import type { PageOrder } from './page-order.js';
import { LARGE_PAGE_LIMIT, DOCUMENTED_MAX_MESSAGES_PER_PAGE } from './page-limits.js';
import type { PageReader } from './page-reader.js';
import type { ReplyTime } from './page-requests.js';
import { requestForLastPage } from './page-tail.js';

const message = (n: number, minute = n): UpstreamMessage => ({
  id: `m${n}`,
  direction: 'inbound',
  body: '',
  timestamp: minute * 60_000,
  attachments: 0,
  delivered: false,
  read: false,
  raw: {},
});
const messages = (from: number, to: number): UpstreamMessage[] =>
  Array.from({ length: to - from + 1 }, (_, i) => message(from + i));

/** Snapshot of a known message. A read uses only its presence. */
const SNAPSHOT: KnownMessage = {
  direction: 'inbound',
  ...{ delivered: false, read: false, deliveredEmitted: false, readEmitted: false, deleted: false },
  fingerprint: { high: 0, low: 0, fields: [] },
  revision: 1,
};

/** What a read of the newest messages found. */
type HeadRead = HeadWalk &
  Pick<PageReader, 'pageSize' | 'skipped'> & {
    served: readonly UpstreamMessage[];
    unreadable: readonly string[];
    firstReply: ReplyTime | undefined;
  };

/** Fake upstream with one contact. `all` is sorted by age, oldest first. */
class Pages {
  reads: string[] = [];
  /** Hook before each request, with the number of the request. */
  before: (read: number, page: number, limit: number) => void = () => undefined;
  cap = DOCUMENTED_MAX_MESSAGES_PER_PAGE;

  constructor(
    public all: UpstreamMessage[],
    private readonly order: 'newestFirst' | 'oldestFirst',
    public known: Set<string> = new Set(),
  ) {}

  /** Runs a read of the newest messages, as after a complete read of the list in this order. */
  async head(order: PageOrder, more: Partial<HeadPlan> = {}): Promise<HeadRead> {
    this.reads = [];
    const plan = {
      ...{
        order,
        known: this.known.size,
        knowsMany: this.known.size > 10,
        length: this.known.size,
        pageSize: this.cap,
        longestPage: this.cap,
      },
      ...{
        isFirst: false,
        isLookup: false,
        failures: 0,
        hasPermanentlyUnreadableMessage: false,
        ignoresLimit: false,
      },
      hasMisplacedMessages: false,
    };
    const walk = await readNewestMessages(
      {
        account: 'default',
        contactId: 'c',
        purpose: 'poll',
        upstream: {
          listMessages: (_account, _contactId, page, limit) => {
            this.reads.push(`${page}/${limit}`);
            if (this.reads.length > 1_000) throw new Error('the read does not end');
            this.before(this.reads.length, page, limit);
            return Promise.resolve(this.page(page, limit));
          },
        },
        store: {
          knownMessages: (_account, _contactId, ids) =>
            Promise.resolve(
              new Map(ids.filter((id) => this.known.has(id)).map((id) => [id, SNAPSHOT] as const)),
            ),
        },
      },
      { ...plan, ...more },
    );
    const { seen, pageSize, skipped, unreadable, requests } = walk.pages;
    const { firstReply } = requests;
    const served = [...seen.values()];
    return Object.assign(walk, { served, pageSize, skipped, unreadable: [...unreadable], firstReply });
  }

  page(page: number, wanted = DOCUMENTED_MAX_MESSAGES_PER_PAGE): MessagePage {
    const limit = Math.min(wanted, this.cap);
    const inOrder = this.order === 'newestFirst' ? [...this.all].reverse() : this.all;
    return { items: inOrder.slice((page - 1) * limit, page * limit), skipped: 0 };
  }
}

const idsOf = ({ served }: HeadRead): string[] => served.map(({ id }) => id).sort();
const allIds = (list: readonly UpstreamMessage[]): string[] => list.map(({ id }) => id).sort();
const ORDERS = ['newestFirst', 'oldestFirst'] as const;

/** Returns a contact with `count` messages, of which the last `fresh` are not known. */
function contact(order: (typeof ORDERS)[number], count: number, fresh: number): Pages {
  const all = messages(1, count);
  return new Pages(all, order, new Set(allIds(all.slice(0, count - fresh))));
}

describe('a read of the newest messages', () => {
  it.each(ORDERS.flatMap((order) => [1, 19, 20, 21, 40, 75].map((count) => ({ order, count }))))(
    'makes one request if at most one message is new: $order, $count messages',
    async ({ order, count }) => {
      const pages = contact(order, count, 0);
      await pages.head(order);
      expect(pages.reads).toHaveLength(1);
      pages.all.push(message(count + 1));
      expect(idsOf(await pages.head(order))).toContain(`m${count + 1}`);
      expect(pages.reads).toHaveLength(1);
    },
  );

  it('requests page 1, page 2 and page 1 again if 25 messages are new and a page has at most 20', async () => {
    const pages = contact('newestFirst', 75, 25);
    const head = await pages.head('newestFirst', { limit: DOCUMENTED_MAX_MESSAGES_PER_PAGE });
    expect(pages.reads).toEqual(['1/20', '2/20', '1/20']);
    expect(idsOf(head)).toEqual(expect.arrayContaining(allIds(messages(51, 75))));
  });

  it('requests the first page again with limit 100 if all its 20 messages are new and upstream accepts that limit', async () => {
    const pages = contact('newestFirst', 75, 25);
    pages.cap = LARGE_PAGE_LIMIT;
    await pages.head('newestFirst', {
      limit: LARGE_PAGE_LIMIT,
      pageSize: DOCUMENTED_MAX_MESSAGES_PER_PAGE,
    });
    expect(pages.reads).toEqual(['1/20', '1/100']);
  });

  it('reads an oldest-first list to its end if 25 messages are new', async () => {
    const pages = contact('oldestFirst', 75, 25);
    expect(idsOf(await pages.head('oldestFirst'))).toEqual(expect.arrayContaining(allIds(messages(51, 75))));
    expect(pages.reads.length).toBeLessThanOrEqual(5);
  });

  it.each(ORDERS)('returns all new messages even if they fill several pages: %s', async (order) => {
    const pages = contact(order, 150, 120);
    expect(idsOf(await pages.head(order))).toEqual(expect.arrayContaining(allIds(messages(31, 150))));
  });

  it('returns messages that arrive during the read', async () => {
    const pages = contact('newestFirst', 90, 50);
    pages.before = (read) => {
      if (read >= 2 && read <= 4) pages.all.push(message(100 + read));
    };
    const head = await pages.head('newestFirst');
    expect(idsOf(head)).toEqual(expect.arrayContaining(allIds(pages.all.slice(40))));
  });

  it('returns a message that moves to an earlier page because a newer message was deleted', async () => {
    const pages = contact('newestFirst', 20, 11);
    pages.cap = 5;
    pages.before = (read) => {
      if (read === 3) pages.all.pop();
    };
    const head = await pages.head('newestFirst');
    expect(idsOf(head)).toEqual(expect.arrayContaining(allIds(messages(10, 20))));
  });

  it('returns each message once, in its latest form', async () => {
    const pages = contact('newestFirst', 45, 25);
    pages.before = (read) => {
      if (read === 2) pages.all = [...pages.all.slice(0, -1), { ...message(45), read: true }, message(46)];
    };
    const head = await pages.head('newestFirst');
    expect(new Set(idsOf(head)).size).toBe(head.served.length);
    expect(head.served.find(({ id }) => id === 'm45')?.read).toBe(true);
  });

  it('reports that it may have missed new messages if the list is not in the assumed order', async () => {
    const pages = contact('oldestFirst', 75, 5);
    expect(await pages.head('newestFirst')).toMatchObject({ order: 'unsorted', coversAllNew: false });
  });

  it.each(ORDERS)(
    'relies on the assumed order of the list if a message is misplaced by a few places: %s',
    async (order) => {
      const pages = contact(order, 75, 1);
      pages.all.splice(72, 0, ...pages.all.splice(69, 1));
      expect(await pages.head(order)).toMatchObject({
        ...{ order, hasMisplacedMessages: true, coversAllNew: true },
        shown: expect.arrayContaining(['m75']) as unknown,
      });
      expect(pages.reads).toHaveLength(1);
    },
  );

  it('in a list with misplaced messages does not stop at a page that ends in a known message, but continues until it has found more known messages than the number of positions by which a message may be misplaced', async () => {
    const pages = contact('newestFirst', 75, 20);
    pages.all.splice(54, 0, ...pages.all.splice(55, 1));
    expect(pages.page(1).items.at(-1)?.id).toBe('m55');
    const missed = (read: HeadRead): boolean => !idsOf(read).includes('m56');
    expect(missed(await pages.head('newestFirst'))).toBe(true);
    expect(missed(await pages.head('newestFirst', { hasMisplacedMessages: true }))).toBe(false);
    pages.known = new Set(allIds(pages.all));
    await pages.head('newestFirst', { hasMisplacedMessages: true });
    expect(pages.reads).toHaveLength(1);
  });

  it('of a list in unknown order finds all new messages only if the whole list fits on the first page', async () => {
    const alike = (count: number): Pages => {
      const all = Array.from({ length: count }, (_, n) => message(n, 1));
      return new Pages(all, 'newestFirst', new Set(allIds(all.slice(0, count - 1))));
    };
    const pages = alike(12);
    expect(await pages.head('unknown')).toMatchObject({ coversAllNew: true });
    expect(pages.reads).toHaveLength(1);
    const longer = alike(45);
    expect(await longer.head('unknown')).toMatchObject({ coversAllNew: false });
    expect(longer.reads).toHaveLength(1);
  });

  it.each([
    { count: 50, longestPage: 51, reads: ['1/100'], showsAll: true },
    { count: 50, longestPage: 50, reads: ['1/100', '2/100'], showsAll: true },
    { count: 51, longestPage: 50, reads: ['1/100', '2/100'], showsAll: false },
  ])(
    'requests page 2 after page 1 with limit 100 unless page 1 is shorter than the longest page so far: $count messages, longest page $longestPage',
    async ({ count, longestPage, reads, showsAll }) => {
      const all = Array.from({ length: count }, (_, n) => message(n, 1));
      const pages = new Pages(all, 'oldestFirst', new Set(allIds(all.slice(0, 50))));
      pages.cap = 50;
      const plan = { limit: LARGE_PAGE_LIMIT, pageSize: DOCUMENTED_MAX_MESSAGES_PER_PAGE, longestPage };
      expect(await pages.head('unknown', plan)).toMatchObject({ showsEnd: showsAll, coversAllNew: showsAll });
      expect(pages.reads).toEqual(reads);
    },
  );

  it('reports that it may have missed new messages if page 1 with limit 100 succeeds and page 2 fails', async () => {
    const all = Array.from({ length: 51 }, (_, n) => message(n, 1));
    const pages = new Pages(all, 'oldestFirst', new Set(allIds(all.slice(0, 50))));
    pages.cap = 50;
    pages.before = (_, page) => {
      if (page === 2) throw new UpstreamStatusError(500, '', undefined);
    };
    const plan = { limit: LARGE_PAGE_LIMIT, pageSize: DOCUMENTED_MAX_MESSAGES_PER_PAGE };
    expect(await pages.head('unknown', plan)).toMatchObject({ coversAllNew: false });
  });

  it.each(ORDERS)(
    'determines the order of a list of two messages from their timestamps: %s',
    async (order) => {
      const pages = contact(order, 2, 1);
      expect(await pages.head('unknown', { pageSize: 2, longestPage: 2 })).toMatchObject({
        order,
        coversAllNew: true,
      });
      // If the page may be capped, page 2 must be read, and then page 1 again, since a message may have moved there.
      expect(pages.reads).toHaveLength(order === 'newestFirst' ? 1 : 3);
    },
  );

  it.each(ORDERS)(
    'treats a first page of 2 messages as the last page if another contact had a page of 20 messages: %s',
    async (order) => {
      const pages = contact(order, 2, 1);
      expect(await pages.head('unknown', { pageSize: 2, longestPage: 20 })).toMatchObject({
        coversAllNew: true,
        showsEnd: true,
      });
      expect(pages.reads).toHaveLength(1);
    },
  );

  it.each([
    ['the page is the last if the contact has 12 known messages', 12, true],
    ['the page is not the last if the contact has 13 known messages', 13, false],
  ])(
    'recognizes whether a page of 12 messages is the last page if another contact had a page of 20 messages: %s',
    async (_, length, showsEnd) => {
      const pages = contact('newestFirst', length, 0);
      pages.cap = 12;
      expect(await pages.head('newestFirst', { length, pageSize: 12, longestPage: 20 })).toMatchObject({
        showsEnd,
      });
    },
  );

  it('returns a message that moves from page 2 to page 1 between the requests for these pages', async () => {
    const pages = contact('oldestFirst', 11, 11);
    pages.cap = 10;
    pages.before = (read) => {
      if (read === 2) pages.all = pages.all.filter(({ id }) => id !== 'm2');
    };
    expect(idsOf(await pages.head('unknown', { pageSize: 10, longestPage: 10 }))).toContain('m11');
  });

  it('requests the next page if a page ends with a new message, even if the page also contains a known message', async () => {
    const pages = contact('newestFirst', 60, 25);
    pages.known.add('m50');
    expect(idsOf(await pages.head('newestFirst'))).toEqual(expect.arrayContaining(allIds(messages(36, 60))));
  });

  it('reports that it found no known message if it reaches the end of the list without one', async () => {
    const pages = contact('newestFirst', 45, 45);
    for (let n = 0; n < 30; n += 1) pages.known.add(`gone${n}`);
    expect(await pages.head('newestFirst')).toMatchObject({ metNoKnownMessage: true });
  });

  it.each([
    ['oldestFirst', 'oldestFirst', 30, 45],
    ['oldestFirst', 'oldestFirst', 100, 45],
    ['oldestFirst', 'unsorted', 15, 45],
    ['newestFirst', 'unsorted', 45, 45],
    ['newestFirst', 'unknown', 45, 45],
    ['newestFirst', 'unknown', 15, 15],
  ] as const)(
    'reports that it reached the end of the list without a known message (order: %s, assumed order: %s, known messages, all deleted: %d, new messages: %d)',
    async (order, assumed, known, count) => {
      const pages = contact(order, count, count);
      for (let n = 0; n < known; n += 1) pages.known.add(`gone${n}`);
      const read = await pages.head(assumed);
      expect([read.metNoKnownMessage, idsOf(read).length]).toEqual([true, count]);
      pages.known = new Set([`m${Math.max(count - 19, 1)}`, ...pages.known]);
      expect(await pages.head(assumed)).toMatchObject({ metNoKnownMessage: false });
    },
  );

  it('fails if a page of its search for known messages fails; the next read, which cannot read the page in parts either, does not report that it found no known message', async () => {
    const pages = contact('oldestFirst', 45, 45);
    for (let n = 0; n < 30; n += 1) pages.known.add(`gone${n}`);
    pages.before = (_, page, limit) => {
      if (page * limit > 20) throw new UpstreamStatusError(500, '', undefined);
    };
    await expect(pages.head('unsorted')).rejects.toThrow(UpstreamStatusError);
    const read = await pages.head('unsorted', { failures: 1 });
    expect(read).toMatchObject({ metNoKnownMessage: false, coversAllNew: false });
  });

  it('searches for known messages on pages of 20 messages if larger pages, which upstream returned for another contact, time out', async () => {
    const pages = contact('oldestFirst', 45, 45);
    for (let n = 0; n < 30; n += 1) pages.known.add(`gone${n}`);
    pages.before = (_, _page, limit) => {
      if (limit > 20) throw new UpstreamTimeoutError(1_000);
    };
    const read = await pages.head('oldestFirst', { longestPage: LARGE_PAGE_LIMIT });
    expect(read).toMatchObject({ metNoKnownMessage: true, limit: DOCUMENTED_MAX_MESSAGES_PER_PAGE });
  });

  it('fails if a page of its search for known messages times out; after six failed reads, ends without that page and does not report that it found no known message', async () => {
    const pages = contact('newestFirst', 45, 45);
    for (let n = 0; n < 30; n += 1) pages.known.add(`gone${n}`);
    let error: Error = new UpstreamTimeoutError(1_000);
    pages.before = (_, page) => {
      if (page === 2) throw error;
    };
    await expect(pages.head('unsorted', { failures: 5 })).rejects.toThrow(UpstreamTimeoutError);
    const read = await pages.head('unsorted', { failures: 6 });
    expect(read).toMatchObject({ metNoKnownMessage: false, coversAllNew: false });
    error = new UpstreamUnavailableError('');
    await expect(pages.head('unsorted', { failures: 6 })).rejects.toThrow(UpstreamUnavailableError);
  });

  it('ends without page 2 after six failed reads if page 1 has only new messages and page 2 times out again', async () => {
    const pages = contact('newestFirst', 45, 25);
    pages.before = (_, page) => {
      if (page === 2) throw new UpstreamTimeoutError(1_000);
    };
    await expect(pages.head('newestFirst', { failures: 5 })).rejects.toThrow(UpstreamTimeoutError);
    const read = await pages.head('newestFirst', { failures: 6 });
    expect(idsOf(read)).toEqual(allIds(messages(26, 45)));
    expect(read).toMatchObject({ metNoKnownMessage: false, coversAllNew: false });
    await expect(pages.head('newestFirst', { failures: 6, isLookup: true })).rejects.toThrow(
      UpstreamTimeoutError,
    );
  });

  it('ends if upstream ignores the page number and always returns the first page', async () => {
    const pages = contact('newestFirst', 15, 15);
    pages.known.add('gone');
    const first = pages.page(1);
    pages.page = () => first;
    expect(idsOf(await pages.head('newestFirst'))).toHaveLength(15);
    expect(pages.reads.length).toBeLessThanOrEqual(4);
  });

  it('stops after a bounded number of pages if every page has only new messages, and reports that it may have missed new messages', async () => {
    let n = 1_000;
    const pages = contact('newestFirst', 1, 0);
    pages.page = () => ({ items: Array.from({ length: 20 }, () => message((n += 1), 1e6 - n)), skipped: 0 });
    const head = await pages.head('newestFirst');
    expect(head.coversAllNew).toBe(false);
    expect(pages.reads.length).toBeLessThan(400);
  });

  it('requests the next page after a page on which no message can be read', async () => {
    const pages = contact('newestFirst', 45, 25);
    const inner = pages.page.bind(pages);
    pages.page = (page) => (page === 1 ? { items: [], skipped: 20 } : inner(page));
    expect(idsOf(await pages.head('newestFirst'))).toHaveLength(20);
  });

  it('fails if the second of several pages cannot be read', async () => {
    const pages = contact('newestFirst', 75, 45);
    pages.before = (_, page) => {
      if (page === 2) throw new Error('503');
    };
    await expect(pages.head('newestFirst')).rejects.toThrow('503');
  });

  it('returns the time of the first page by upstream’s clock, and when its headers arrived', async () => {
    const pages = contact('newestFirst', 45, 25);
    const inner = pages.page.bind(pages);
    pages.page = (page) => ({ ...inner(page), date: 1_000 * page, arrivedAt: page });
    expect((await pages.head('newestFirst')).firstReply).toEqual({ date: 1_000, arrivedAt: 1 });
  });
});

describe('a read of the newest messages while every page with a certain message fails', () => {
  /** Returns pages that fail if they contain the message at `index`, counted from 0 at the newest. */
  function failingAt(index: number): Pages {
    const pages = contact('newestFirst', 60, 0);
    pages.before = (_, page, limit) => {
      if ((page - 1) * limit <= index && index < page * limit)
        throw new UpstreamStatusError(500, '', undefined);
    };
    return pages;
  }

  it('requests a shorter first page, and later reads request that shorter page at once', async () => {
    const pages = failingAt(13);
    expect(await pages.head('newestFirst')).toMatchObject({ headLimit: 10 });
    expect(pages.reads).toEqual(['1/20', '1/10']);
    await pages.head('newestFirst', { headLimit: 10 });
    expect(pages.reads).toEqual(['1/10']);
  });

  it.each([9, 5, 3, 1])(
    'requests a shorter first page than the previous, failed read: failing message at position %d',
    async (index) => {
      const pages = failingAt(index);
      await expect(pages.head('newestFirst')).rejects.toThrow(UpstreamStatusError);
      expect(pages.reads).toHaveLength(2);
      const head = await pages.head('newestFirst', { failures: 1 });
      expect(head.headLimit).toBeLessThanOrEqual(index);
      expect(head.served.length).toBeGreaterThan(0);
    },
  );
});

describe('a read of the newest messages, after a failed read,', () => {
  /** Makes a request fail if its page contains an index of upstream's list for which `fails` returns true. */
  function withFailing(pages: Pages, fails: (index: number) => boolean): Pages {
    pages.before = (_, page, limit) => {
      for (let index = (page - 1) * limit; index < page * limit; index += 1)
        if (index < pages.all.length && fails(index)) throw new UpstreamStatusError(500, '', undefined);
    };
    return pages;
  }

  it.each([40, 42, 45, 47])(
    'skips the failing message on the last page of an oldest-first list: index %d',
    async (failing) => {
      const pages = withFailing(contact('oldestFirst', 48, 3), (index) => index === failing);
      await expect(pages.head('oldestFirst')).rejects.toThrow(UpstreamStatusError);
      expect(pages.reads).toHaveLength(1);
      const head = await pages.head('oldestFirst', { failures: 1 });
      expect(pages.reads.length).toBeLessThanOrEqual(20);
      const shown = allIds(messages(46, 48)).filter((id) => id !== `m${failing + 1}`);
      expect(idsOf(head)).toEqual(expect.arrayContaining(shown));
      expect(head).toMatchObject({ unreadable: [expect.any(String)], length: 48 });
    },
  );

  it('requests a shorter first page after six failed reads if page 1 times out, halves that page after each further failed read, and later requests it right after page 1 timed out', async () => {
    const pages = contact('newestFirst', 45, 1);
    pages.before = (_, _page, limit) => {
      if (limit > 6) throw new UpstreamTimeoutError(1_000);
    };
    await expect(pages.head('newestFirst', { failures: 5 })).rejects.toThrow(UpstreamTimeoutError);
    expect(pages.reads).toEqual(['1/20']);
    await expect(pages.head('newestFirst', { failures: 6 })).rejects.toThrow(UpstreamTimeoutError);
    expect(pages.reads).toEqual(['1/20', '1/10']);
    const read = await pages.head('newestFirst', { failures: 7 });
    expect([pages.reads, read.headLimit]).toEqual([['1/20', '1/5'], 5]);
    expect(idsOf(read)).toContain('m45');
    await pages.head('newestFirst', { lastHeadLimit: 5 });
    expect(pages.reads).toEqual(['1/20', '1/5']);
  });

  it('does not request a shorter first page if requests are held', async () => {
    const pages = contact('newestFirst', 45, 1);
    pages.before = () => {
      throw new UpstreamUnavailableError('');
    };
    await expect(pages.head('newestFirst', { failures: 9 })).rejects.toThrow(UpstreamUnavailableError);
    expect(pages.reads).toEqual(['1/20']);
  });

  it('skips the failing first message of a newest-first list; later reads skip this message with fewer requests', async () => {
    const pages = withFailing(contact('newestFirst', 30, 2), (index) => index === 0);
    await expect(pages.head('newestFirst')).rejects.toThrow(UpstreamStatusError);
    const head = await pages.head('newestFirst', { failures: 1 });
    expect(pages.reads).toEqual(['1/20', '1/10', '1/5', '1/2', '1/1', '2/1', '2/2', '2/4', '2/8', '5/4']);
    expect(idsOf(head)).toEqual(allIds(messages(11, 29)));
    expect(head).toMatchObject({ headLimit: 1, skipped: 1, showsEnd: false });
    await pages.head('newestFirst', { headLimit: 1, hasPermanentlyUnreadableMessage: true });
    expect(pages.reads).toEqual(['1/1', '2/1', '2/2', '2/4', '2/8', '5/4']);
  });

  it('does not skip the first message if only one request for that message has failed', async () => {
    const pages = withFailing(contact('newestFirst', 30, 2), (index) => index === 0);
    await expect(pages.head('newestFirst', { headLimit: 1 })).rejects.toThrow(UpstreamStatusError);
    expect(pages.reads).toEqual(['1/1']);
  });

  it.each(ORDERS)('ends after a few requests if no message can be read: %s', async (order) => {
    const pages = withFailing(contact(order, 75, 0), () => true);
    await expect(pages.head(order, { failures: 3 })).rejects.toThrow(UpstreamStatusError);
    expect(pages.reads.length).toBeLessThanOrEqual(20);
  });
});

describe('a read of the newest messages of an oldest-first list while upstream ignores the limit', () => {
  it.each([38, 39, 40, 41, 42, 60])(
    'detects that the limit is ignored, and where the list ends: %d messages',
    async (count) => {
      const pages = contact('oldestFirst', count, 0);
      const inner = pages.page.bind(pages);
      pages.page = (page) => inner(page);
      const limit = DOCUMENTED_MAX_MESSAGES_PER_PAGE;
      const head = await pages.head('oldestFirst', { limit });
      expect(head).toMatchObject({ ignoresLimit: true, length: count });
      const { length, pageSize, ignoresLimit } = head;
      const next = await pages.head('oldestFirst', { length, pageSize, ignoresLimit });
      expect(next).toMatchObject({ shown: head.head, head: head.head, length: count });
      expect(pages.reads).toHaveLength(count % pageSize === 0 ? 3 : 1);
      pages.all.push(...messages(count + 1, count + 25));
      const last = await pages.head('oldestFirst', { length, pageSize, ignoresLimit });
      expect(idsOf(last)).toEqual(expect.arrayContaining(allIds(messages(count + 1, count + 25))));
      expect(last.length).toBe(count + 25);
    },
  );
});

describe('consecutive reads of the newest messages', () => {
  it.each(ORDERS)(
    'miss no new message, however many messages are deleted and however short the pages are: %s',
    async (order) => {
      const step = fc.record({ vanish: fc.array(fc.nat(60), { maxLength: 4 }), come: fc.nat(45) });
      const history = fc.tuple(
        fc.integer({ min: 2, max: 20 }),
        fc.integer({ min: 2, max: 90 }),
        fc.array(step, { maxLength: 8 }),
      );
      await fc.assert(
        fc.asyncProperty(history, async ([cap, begin, steps]) => {
          const pages = contact(order, begin, 0);
          pages.cap = cap;
          let made = begin;
          let { length, pageSize } = { length: begin, pageSize: Math.min(cap, begin) };
          for (const { vanish, come } of [{ vanish: [], come: 0 }, ...steps]) {
            pages.all = pages.all.filter((_, i) => !vanish.includes(pages.all.length - 1 - i));
            pages.all.push(...messages(made + 1, made + come));
            made += come;
            const head = await pages.head(order, { length, pageSize });
            for (const { id } of head.served) pages.known.add(id);
            expect(allIds(pages.all).filter((id) => !pages.known.has(id))).toEqual([]);
            ({ length, pageSize } = head);
          }
        }),
        { numRuns: 300 },
      );
    },
  );
});

describe('a page of messages that equals the previous page', () => {
  it('does not count as the end of the list if the list grew by a whole page during the read', async () => {
    // Four new messages above two known ones. The first page can be read only with the limit 1.
    const pages = contact('newestFirst', 6, 4);
    pages.before = (read) => {
      // Before the third page is requested, a new message moves every other message by a page.
      if (read === 3) pages.all.push(message(7));
    };
    const read = await pages.head('newestFirst', { headLimit: 1 });
    const missed = ['m3', 'm4', 'm5', 'm6', 'm7'].filter((id) => !idsOf(read).includes(id));
    expect([missed.length > 0, read.coversAllNew]).toEqual([true, false]);
    expect(read.metNoKnownMessage).toBe(false);
  });

  it('counts as the end of the list if upstream returns its last page for every higher page number', async () => {
    const pages = contact('newestFirst', 3, 3);
    const page = pages.page.bind(pages);
    pages.page = (number, limit) => page(Math.min(number, 3), limit);
    const read = await pages.head('newestFirst', { headLimit: 1, known: 1, length: 1 });
    expect(idsOf(read)).toEqual(['m1', 'm2', 'm3']);
    expect([read.coversAllNew, read.metNoKnownMessage]).toEqual([true, true]);
  });
});

describe('the page to request at the end of an oldest-first list', () => {
  it.each([7, 13, 20, 25])(
    'contains the last message and has room for a new message: page size %d',
    (pageSize) => {
      for (let length = 1; length <= 200; length += 1) {
        const { page, limit } = requestForLastPage(length, pageSize, false);
        expect(limit).toBeLessThanOrEqual(pageSize);
        const shown = length - (page - 1) * limit;
        expect(shown).toBeGreaterThan(0);
        expect(shown).toBeLessThan(limit);
      }
    },
  );
});
