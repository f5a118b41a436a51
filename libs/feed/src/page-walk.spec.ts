import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type MessagePage, type UpstreamMessage, UpstreamStatusError } from '#upstream';
import { oldestFirst, orderOf, type PageOrder } from './page-order.js';
import { tailOf } from './page-tail.js';
import { LARGE_LIMIT, PAGE_LIMIT, type WalkPlan, walkPages, type WalkResult } from './page-walk.js';

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

/** An upstream of one contact, oldest first within. */
class Pages {
  reads = 0;
  /** Called before each read with its number. */
  before: (read: number) => void = () => undefined;
  limit = PAGE_LIMIT;

  constructor(
    public all: UpstreamMessage[],
    private readonly order: 'newestFirst' | 'oldestFirst',
    private readonly known: ReadonlySet<string> = new Set(),
  ) {}

  async walk(order: PageOrder = 'unknown', more: Partial<WalkPlan> = {}): Promise<WalkResult> {
    return walkPages(
      {
        read: (page, limit) => {
          this.reads += 1;
          if (this.reads > 1_000) throw new Error('it goes on for ever');
          this.before(this.reads);
          return Promise.resolve(this.page(page, limit));
        },
        known: (ids) => Promise.resolve(new Set(ids.filter((id) => this.known.has(id)))),
      },
      { order, complete: false, length: 0, pageSize: 0, wanted: new Set(), ...more },
    );
  }

  page(page: number, wanted = PAGE_LIMIT): MessagePage {
    const limit = Math.min(wanted, this.limit);
    const inOrder = this.order === 'newestFirst' ? [...this.all].reverse() : this.all;
    return { items: inOrder.slice((page - 1) * limit, page * limit), skipped: 0 };
  }
}

const idsOf = ({ served }: WalkResult): string[] => served.map(({ id }) => id).sort();
const allIds = (list: readonly UpstreamMessage[]): string[] => list.map(({ id }) => id).sort();

describe('a walk over the pages', () => {
  it.each(['newestFirst', 'oldestFirst'] as const)(
    'that begins with nothing reads all, and learns: %s',
    async (order) => {
      const pages = new Pages(messages(1, 75), order);
      const walk = await pages.walk();
      expect(idsOf(walk)).toEqual(allIds(pages.all));
      expect(walk.order).toBe(order);
    },
  );

  it('of one short page goes on where something that is to be seen does not stand on it', async () => {
    const all = messages(1, 2);
    const pages = new Pages(all, 'newestFirst', new Set(allIds(all)));
    pages.limit = 1;
    // What came before ended on a hole behind the first page: the order is not known, nor is the length.
    const walk = await pages.walk('unknown', { length: 1, pageSize: 1, wanted: new Set(['m1']) });
    expect(idsOf(walk)).toEqual(['m1', 'm2']);
  });

  it('asks again for a large page that failed, which upstream may have ceased to honour, and for no other', async () => {
    const failing = (): Pages => {
      const pages = new Pages(messages(1, 15), 'newestFirst');
      pages.before = (read) => {
        if (read === 1) throw new UpstreamStatusError(503, '', undefined);
      };
      return pages;
    };
    const learned = { length: 15, pageSize: 20, limit: LARGE_LIMIT };
    const everything = await failing().walk('newestFirst', { ...learned, complete: true });
    expect(idsOf(everything)).toEqual(allIds(messages(1, 15)));
    const head = failing();
    await expect(head.walk('newestFirst', learned)).rejects.toThrow(UpstreamStatusError);
    expect(head.reads).toBe(1);
  });

  it('that ends on a page which repeats others is no proof that anything is gone: a shuffled list does that', async () => {
    const pages = new Pages(messages(1, 3), 'newestFirst');
    // The second page shows by chance what stood on the first, and the third message on neither.
    pages.page = (page) => ({ items: page === 1 ? messages(1, 2) : messages(2, 2), skipped: 0 });
    expect(await pages.walk('unsorted', { complete: true })).toMatchObject({ stable: false });
  });

  it('of messages of one time reads on from a page that shows fewer than there were', async () => {
    const all = Array.from({ length: 3 }, (_, n) => message(n, 1));
    const pages = new Pages(all, 'oldestFirst', new Set(allIds(all)));
    pages.limit = 3;
    const walk = await pages.walk('unknown', { pageSize: 20, length: 3 });
    expect(walk.served).toHaveLength(3);
    expect(pages.reads).toBe(1);
    all.push(message(3, 1));
    const later = await pages.walk('unknown', { pageSize: 20, length: 4 });
    expect(later.served).toHaveLength(4);
  });

  it('does not take a page for longer than what can be read of it', async () => {
    const pages = new Pages(messages(1, 6), 'oldestFirst');
    pages.limit = 3;
    const sound = pages.page.bind(pages);
    pages.page = (page, limit) => ({ ...sound(page, limit), skipped: page === 1 ? 1 : 0 });
    expect(await pages.walk()).toMatchObject({ pageSize: 3 });
  });

  it('of an empty contact is one request', async () => {
    const pages = new Pages([], 'newestFirst');
    expect(await pages.walk()).toMatchObject({ served: [], order: 'unknown', skipped: 0, complete: true });
    expect(pages.reads).toBe(1);
  });

  it('where the newest come first and nothing is new is one request', async () => {
    const all = messages(1, 75);
    const pages = new Pages(all, 'newestFirst', new Set(allIds(all)));
    await pages.walk('newestFirst');
    expect(pages.reads).toBe(1);
  });

  it('where the newest come first reads only as far as there is news', async () => {
    const all = messages(1, 100);
    const pages = new Pages(all, 'newestFirst', new Set(allIds(all.slice(0, 70))));
    const walk = await pages.walk('newestFirst');
    expect(idsOf(walk)).toEqual(expect.arrayContaining(allIds(all.slice(70))));
    expect(pages.reads).toBe(6);
  });

  it.each(['newestFirst', 'oldestFirst'] as const)(
    'misses no burst larger than a page: %s',
    async (order) => {
      const all = messages(1, 150);
      const pages = new Pages(all, order, new Set(allIds(all.slice(0, 30))));
      expect(idsOf(await pages.walk(order))).toEqual(expect.arrayContaining(allIds(all.slice(30))));
    },
  );

  it.each(['newestFirst', 'oldestFirst'] as const)(
    'misses nothing that comes while it reads: %s',
    async (order) => {
      const pages = new Pages(messages(1, 50), order);
      pages.before = (read) => {
        if (read >= 2 && read <= 7) pages.all.push(message(100 + read));
      };
      const walk = await pages.walk();
      expect(idsOf(walk)).toEqual(allIds(pages.all));
      expect(walk.order).toBe(order);
    },
  );

  it('misses nothing that moves up to a page that was read, because something before it went', async () => {
    const pages = new Pages(messages(1, 11), 'newestFirst');
    pages.limit = 5;
    pages.before = (read) => {
      if (read === 3) pages.all.pop();
    };
    expect(idsOf(await pages.walk('newestFirst'))).toEqual(allIds(messages(1, 11)));
  });

  it('goes on after a short page: upstream may cap its pages', async () => {
    const pages = new Pages(messages(1, 30), 'newestFirst');
    pages.limit = 7;
    expect(idsOf(await pages.walk())).toHaveLength(30);
  });

  it('ends where page is ignored', async () => {
    const pages = new Pages(messages(1, 15), 'newestFirst');
    const first = pages.page(1);
    pages.page = () => first;
    expect(idsOf(await pages.walk())).toHaveLength(15);
    expect(pages.reads).toBeLessThanOrEqual(4);
  });

  it('gives each message once, in its latest form', async () => {
    const pages = new Pages(messages(1, 25), 'newestFirst');
    pages.before = (read) => {
      if (read === 2) pages.all = [...pages.all.slice(0, -1), { ...message(25), read: true }, message(26)];
    };
    const walk = await pages.walk();
    expect(new Set(idsOf(walk)).size).toBe(walk.served.length);
    expect(walk.served.find(({ id }) => id === 'm25')?.read).toBe(true);
  });

  it('counts an unreadable element once, and reads on behind it', async () => {
    const pages = new Pages(messages(1, 45), 'newestFirst');
    const inner = pages.page.bind(pages);
    pages.page = (page) => ({ ...inner(page), skipped: page === 2 ? 1 : 0 });
    const walk = await pages.walk();
    expect(idsOf(walk)).toHaveLength(45);
    expect(walk.skipped).toBe(1);
  });

  it('reads on behind a page of which nothing can be read', async () => {
    const pages = new Pages(messages(1, 45), 'newestFirst');
    const inner = pages.page.bind(pages);
    pages.page = (page) => (page === 1 ? { items: [], skipped: 20 } : inner(page));
    expect(idsOf(await pages.walk('newestFirst'))).toHaveLength(25);
  });

  it('ends where nothing can be read and page is ignored', async () => {
    const pages = new Pages([], 'newestFirst');
    pages.page = () => ({ items: [], skipped: 1 });
    expect(await pages.walk()).toMatchObject({ served: [], skipped: expect.any(Number) });
    expect(pages.reads).toBeLessThan(10);
  });

  it('that finds another order than it learned reads everything, and learns anew', async () => {
    const all = messages(1, 75);
    const pages = new Pages(all, 'oldestFirst', new Set(allIds(all.slice(0, 70))));
    const walk = await pages.walk('newestFirst');
    expect(idsOf(walk)).toEqual(allIds(all));
    expect(walk.order).toBe('oldestFirst');
  });

  it('fails as a whole if a page cannot be read', async () => {
    const pages = new Pages(messages(1, 75), 'newestFirst');
    pages.before = (read) => {
      if (read === 3) throw new Error('503');
    };
    await expect(pages.walk()).rejects.toThrow('503');
  });

  it('says what upstream’s clock was at its first page', async () => {
    const pages = new Pages(messages(1, 25), 'newestFirst');
    const inner = pages.page.bind(pages);
    pages.page = (page) => ({ ...inner(page), date: 1_000 * page });
    expect((await pages.walk()).date).toBe(1_000);
  });
});

describe('walk after walk', () => {
  it.each(['newestFirst', 'oldestFirst'] as const)(
    'nothing that comes is missed, however much vanishes and however short the pages are: %s',
    async (order) => {
      const step = fc.record({ vanish: fc.array(fc.nat(60), { maxLength: 4 }), come: fc.nat(45) });
      const history = fc.tuple(fc.integer({ min: 2, max: 20 }), fc.nat(90), fc.array(step, { maxLength: 8 }));
      await fc.assert(
        fc.asyncProperty(history, async ([limit, begin, steps]) => {
          const known = new Set<string>();
          const pages = new Pages(messages(1, begin), order, known);
          pages.limit = limit;
          let made = begin;
          let last = await pages.walk();
          for (const { vanish, come } of [{ vanish: [], come: 0 }, ...steps]) {
            for (const { id } of last.served) known.add(id);
            pages.all = pages.all.filter((_, i) => !vanish.includes(pages.all.length - 1 - i));
            pages.all.push(...messages(made + 1, made + come));
            made += come;
            pages.reads = 0;
            const { length, pageSize } = last;
            last = await pages.walk(last.order, { length, pageSize });
            const seen = new Set([...known, ...idsOf(last)]);
            expect(allIds(pages.all).filter((id) => !seen.has(id))).toEqual([]);
          }
        }),
        { numRuns: 300 },
      );
    },
  );
});

describe('where the oldest come first, the stretch that is read', () => {
  it.each([7, 13, 20, 25])('shows the last message and has room for the next, in pages of %d', (pageSize) => {
    for (let length = 1; length <= 200; length += 1) {
      const { page, limit } = tailOf(length, pageSize);
      expect(limit).toBeLessThanOrEqual(pageSize);
      // Of two messages in pages of two there is no such stretch.
      if (pageSize === 2 && length % 2 === 0) continue;
      const shown = length - (page - 1) * limit;
      expect(shown).toBeGreaterThan(0);
      expect(shown).toBeLessThan(limit);
    }
  });
});

describe('the order of messages', () => {
  const stamped = (...minutes: (number | undefined)[]): UpstreamMessage[] =>
    minutes.map((minute, n) => {
      const { timestamp, ...rest } = message(n, minute ?? 0);
      return minute === undefined || timestamp === undefined ? rest : { ...rest, timestamp };
    });

  it.each([
    [[], 'unknown'],
    [[1], 'unknown'],
    [[1, 1, 1], 'unknown'],
    [[undefined, 1, undefined], 'unknown'],
    [[3, 2, undefined, 2, 1], 'newestFirst'],
    [[1, undefined, 2, 2], 'oldestFirst'],
    [[1, 3, 2], 'unsorted'],
  ] as const)('of %j is %s', (minutes, order) => {
    expect(orderOf(stamped(...minutes))).toBe(order);
  });

  it('is oldest first for the diff; equal times as they were served, those without one last', () => {
    const order = (minutes: (number | undefined)[], as: PageOrder): string[] =>
      oldestFirst(stamped(...minutes), as).map(({ id }) => id);
    expect(order([3, 2, 2, 1], 'newestFirst')).toEqual(['m3', 'm2', 'm1', 'm0']);
    expect(order([1, 2, 2, 3], 'oldestFirst')).toEqual(['m0', 'm1', 'm2', 'm3']);
    expect(order([2, undefined, 1], 'unsorted')).toEqual(['m2', 'm0', 'm1']);
    expect(order([undefined, undefined], 'unknown')).toEqual(['m0', 'm1']);
  });
});
