import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { UpstreamMessage } from '#upstream';
import { compareWithAssumedOrder, MessageOrderDetector, messageOrderOf } from './message-order-detector.js';
import type { PageOrder } from './page-order.js';

const PAGE_SIZE = 20;
/** The order of the same list from its end. */
const REVERSED = {
  ...{ unknown: 'unknown', unsorted: 'unsorted' },
  ...{ newestFirst: 'oldestFirst', oldestFirst: 'newestFirst' },
} as const;

/** Returns messages `m0`, `m1`, … with these timestamps, in minutes. */
const messages = (...minutes: (number | undefined)[]): UpstreamMessage[] =>
  minutes.map((minute, n) => ({
    ...{
      id: `m${n}`,
      direction: 'inbound',
      body: '',
      attachments: 0,
      delivered: false,
      read: false,
      raw: {},
    },
    ...(minute === undefined ? {} : { timestamp: minute * 60_000 }),
  }));
/** Returns the minutes from `from` down to `to`. */
const down = (from: number, to: number): number[] =>
  Array.from({ length: from - to + 1 }, (_, i) => from - i);
/** Returns a newest-first list of 60 messages. Its last message is newer than the `places` messages before it. */
const misplacedBy = (places: number): number[] => {
  const minutes = down(60, 1);
  minutes.push(...minutes.splice(-places - 1, 1));
  return minutes;
};
const orderOf = (minutes: readonly (number | undefined)[], pageSize = PAGE_SIZE): PageOrder =>
  messageOrderOf(messages(...minutes), pageSize).order;

describe('the order of messages', () => {
  it.each([
    [[], 'unknown'],
    [[1], 'unknown'],
    [[1, 1, 1], 'unknown'],
    [[undefined, 1, undefined], 'unknown'],
    [[3, 2, undefined, 2, 1], 'newestFirst'],
    [[1, undefined, 2, 2], 'oldestFirst'],
    [[1, 3, 2], 'unsorted'],
  ] as const)('with timestamps %j is %s', (minutes, order) => {
    expect(messageOrderOf(messages(...minutes), PAGE_SIZE)).toEqual({ order, hasMisplacedMessages: false });
  });

  it.each([
    ['newestFirst', (minutes: number[]) => minutes],
    ['oldestFirst', (minutes: number[]) => [...minutes].reverse()],
  ] as const)(
    'is %s if messages are misplaced by at most five places, and unsorted otherwise',
    (order, as) => {
      for (const places of [1, 5])
        expect(messageOrderOf(messages(...as(misplacedBy(places))), PAGE_SIZE)).toEqual({
          order,
          hasMisplacedMessages: true,
        });
      expect(orderOf(as(misplacedBy(6)))).toBe('unsorted');
    },
  );

  it.each([
    ['newestFirst', (minutes: number[]) => minutes],
    ['oldestFirst', (minutes: number[]) => [...minutes].reverse()],
  ] as const)('is %s if one message among the newest is much too old', (order, as) => {
    expect(orderOf(as([60, 59, 1, ...down(58, 2)]))).toBe(order);
  });

  it('is unsorted if one message far from the newest ones is newer than all others', () => {
    expect(orderOf([...down(60, 1), 61])).toBe('unsorted');
    expect(orderOf([61, ...down(60, 1).reverse()])).toBe('unsorted');
  });

  it('is unsorted if two sorted lists follow each other', () => {
    const joined = [1, 0].flatMap((odd) => down(60, 31).map((minute) => 2 * minute - odd));
    expect(orderOf(joined)).toBe('unsorted');
    expect(orderOf([...joined].reverse())).toBe('unsorted');
  });

  it('is unsorted if a few messages in a list of equal timestamps are older', () => {
    const equal = (count: number): number[] => Array.from({ length: count }, () => 2);
    expect(orderOf([...equal(20), 1, ...equal(20), 0])).toBe('unsorted');
  });

  it('is unsorted if a message is misplaced by more than a tenth of the list or a quarter of a page', () => {
    expect(orderOf([10, 9, 8, 7, 6, 5, 4, 3, 1, 2])).toBe('newestFirst');
    expect(orderOf([9, 8, 7, 6, 5, 4, 3, 1, 2])).toBe('unsorted');
    expect(orderOf(misplacedBy(2), 8)).toBe('newestFirst');
    expect(orderOf(misplacedBy(2), 7)).toBe('unsorted');
    expect(orderOf(misplacedBy(1), 3)).toBe('unsorted');
  });

  it('is the same whether the messages are added in one step or page by page', () => {
    const detector = new MessageOrderDetector();
    for (const message of messages(...misplacedBy(3))) detector.add([message]);
    expect(detector.observedOrder(PAGE_SIZE)).toEqual({ order: 'newestFirst', hasMisplacedMessages: true });
  });

  it('is newest first or oldest first only if no message has more than five older messages between itself and the newest end of the list', () => {
    const list = fc.tuple(
      fc.integer({ min: 0, max: 80 }),
      fc.array(fc.tuple(fc.nat(80), fc.nat(8)), { maxLength: 6 }),
    );
    let sorted = 0;
    fc.assert(
      fc.property(list, ([length, moves]) => {
        const minutes = down(length, 1);
        for (const [from, by] of moves) minutes.splice(from + by, 0, ...minutes.splice(from, 1));
        const found = messageOrderOf(messages(...minutes), PAGE_SIZE);
        const reversed = REVERSED[found.order];
        expect(messageOrderOf(messages(...[...minutes].reverse()), PAGE_SIZE)).toEqual({
          ...found,
          order: reversed,
        });
        if (found.order !== 'newestFirst') return;
        sorted += 1;
        const older = minutes.map((minute, i) => minutes.slice(0, i).filter((one) => one < minute).length);
        expect(Math.max(...older)).toBeLessThanOrEqual(5);
        expect(found.hasMisplacedMessages).toBe(older.some((count) => count > 0));
      }),
      { numRuns: 500 },
    );
    expect(sorted).toBeGreaterThan(50);
  });
});

describe('an assumed order', () => {
  const compare = (assumed: PageOrder, minutes: number[], pageSize = PAGE_SIZE): string =>
    compareWithAssumedOrder(assumed, messages(...minutes), pageSize);

  it('is confirmed by a page that is sorted in this order, or whose messages have equal timestamps', () => {
    expect(compare('newestFirst', down(20, 1))).toBe('confirm');
    expect(compare('oldestFirst', [1, 1, 2])).toBe('confirm');
    expect(compare('oldestFirst', [1, 1, 1])).toBe('confirm');
  });

  it('is neither confirmed nor contradicted by a page with a message that is misplaced by a quarter of a page', () => {
    expect(compare('newestFirst', [19, 18, 17, 16, 15, 20, ...down(14, 1)])).toBe('misplaced');
    expect(compare('oldestFirst', [2, 1], 4)).toBe('misplaced');
  });

  it('is contradicted by a page with a message that is misplaced by more than a quarter of a page', () => {
    expect(compare('newestFirst', [19, 18, 17, 16, 15, 14, 20, ...down(13, 1)])).toBe('contradict');
    expect(compare('oldestFirst', [3, 2, 1], 7)).toBe('contradict');
    expect(compare('oldestFirst', [2, 1], 3)).toBe('contradict');
  });

  it.each(['unknown', 'unsorted'] as const)('is never contradicted if it is %s', (assumed) => {
    expect(compare(assumed, [1, 3, 2])).toBe('confirm');
  });
});
