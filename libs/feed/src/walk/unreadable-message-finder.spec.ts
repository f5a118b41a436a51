import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PageRequest } from './page-tail.js';
import { UnreadableMessageFinder } from './unreadable-message-finder.js';

interface Found {
  read: number[];
  passedOver: number[];
  requests: number;
}

/** Searches a page with failing messages at the given positions. */
function searched(page: PageRequest, failing: ReadonlySet<number>): Found {
  const search = new UnreadableMessageFinder(page);
  const found: Found = { read: [], passedOver: [], requests: 0 };
  for (let part = search.next(); part !== undefined; part = search.next()) {
    found.requests += 1;
    const from = (part.page - 1) * part.limit;
    const places = Array.from({ length: part.limit }, (_, i) => from + i);
    if (!places.some((place) => failing.has(place))) {
      search.succeeded();
      found.read.push(...places);
    } else if (search.failed()) found.passedOver.push(...places);
    if (found.requests > 1_000) throw new Error('the search does not end');
  }
  return found;
}

const positionsOf = ({ page, limit }: PageRequest): number[] =>
  Array.from({ length: limit }, (_, i) => (page - 1) * limit + i);

describe('the search for the unreadable messages of a page', () => {
  it('reads every readable message once and in order, whichever messages are unreadable', () => {
    fc.assert(
      fc.property(
        fc.record({ page: fc.integer({ min: 1, max: 50 }), limit: fc.constantFrom(1, 2, 5, 7, 10, 20, 100) }),
        fc.array(fc.nat({ max: 99 }), { maxLength: 5 }),
        (page, places) => {
          const all = positionsOf(page);
          const failing = new Set(places.map((place) => all[place % page.limit] ?? 0));
          const { read, passedOver, requests } = searched(page, failing);
          expect(read).toEqual(all.filter((place) => !failing.has(place)));
          expect(passedOver).toEqual(all.filter((place) => failing.has(place)));
          // Each unreadable message costs a binary search.
          const halvings = Math.ceil(Math.log2(page.limit)) + 1;
          expect(requests).toBeLessThanOrEqual((failing.size + 2) * halvings);
        },
      ),
      { numRuns: 1_000, examples: [[{ page: 48, limit: 10 }, [12, 31, 66, 34, 18]]] },
    );
  });

  it.each([1, 2, 3])(
    'makes at most 11 requests if one message of page %i is unreadable (page size: 20)',
    (page) => {
      const costs = positionsOf({ page, limit: 20 }).map(
        (place) => searched({ page, limit: 20 }, new Set([place])).requests,
      );
      expect(Math.max(...costs)).toBeLessThanOrEqual(11);
      expect(costs.reduce((sum, cost) => sum + cost, 0) / costs.length).toBeLessThanOrEqual(8);
    },
  );

  it('makes at most 27 requests if none of the 20 messages of a page can be read', () => {
    for (let page = 1; page <= 50; page += 1) {
      const all = positionsOf({ page, limit: 20 });
      const { passedOver, requests } = searched({ page, limit: 20 }, new Set(all));
      expect(passedOver).toEqual(all);
      expect(requests).toBeLessThanOrEqual(27);
    }
  });

  it('makes six requests if a page of 20 messages failed, but each of the messages can be read', () => {
    expect(searched({ page: 2, limit: 20 }, new Set())).toMatchObject({ passedOver: [], requests: 6 });
  });
});
