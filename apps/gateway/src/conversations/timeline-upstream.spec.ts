import { expect, it } from '@jest/globals';
import type { AccountDirectory } from '#accounts';
import { MessagesUnavailableError } from '#conversations';
import { type RequestRateLimiter, UpstreamStatusError } from '#upstream';
import { TimelineUpstream } from './timeline-upstream.js';

it.each([404, 410, 416])(
  'a timeline counts a page that gets status %d from upstream as empty, except page 1, whose contact may not exist',
  async (status) => {
    const upstream = new TimelineUpstream(
      { listMessages: () => Promise.reject(new UpstreamStatusError(status, '', undefined)) },
      // The account was removed meanwhile, so the limiter is not asked.
      { find: () => Promise.resolve(undefined) } as unknown as AccountDirectory,
      {} as RequestRateLimiter,
    );
    const read = (page: number): Promise<unknown> => upstream.read('a', 'c1', page, 20, { leftMs: 0 });
    expect(await read(2)).toEqual({ items: [], count: 0 });
    await expect(read(1)).rejects.toThrow(MessagesUnavailableError);
  },
);
