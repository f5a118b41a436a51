import { describe, expect, it } from '@jest/globals';
import type { UpstreamMessage } from '#upstream';
import { type PageOrder, sortOldestFirst } from './page-order.js';

describe('sorted messages', () => {
  it('are oldest first, and messages without a timestamp come last', () => {
    const order = (minutes: (number | undefined)[], as: PageOrder): string[] =>
      sortOldestFirst(
        minutes.map((minute, n): UpstreamMessage => ({
          ...{ id: `m${n}`, direction: 'inbound', body: '', attachments: 0 },
          ...{ delivered: false, read: false, raw: {} },
          ...(minute === undefined ? {} : { timestamp: minute * 60_000 }),
        })),
        as,
      ).map(({ id }) => id);
    expect(order([3, 2, 2, 1], 'newestFirst')).toEqual(['m3', 'm2', 'm1', 'm0']);
    expect(order([1, 2, 2, 3], 'oldestFirst')).toEqual(['m0', 'm1', 'm2', 'm3']);
    expect(order([2, undefined, 1], 'unsorted')).toEqual(['m2', 'm0', 'm1']);
    expect(order([undefined, undefined], 'unknown')).toEqual(['m0', 'm1']);
  });
});
