import { expect, it, jest } from '@jest/globals';
import type { AccountDirectory } from '#accounts';
import { MessagesUnavailableError } from '#conversations';
import {
  type BudgetedUpstream,
  BudgetExhaustedError,
  type RequestRateLimiter,
  UpstreamStatusError,
} from '#upstream';
import { TimelineUpstream } from './timeline-upstream.js';

/** Accounts with a budget of ten requests per second each. */
const ACCOUNTS = {
  find: (id: string) => Promise.resolve({ id, requestsPerSecond: 10 }),
} as unknown as AccountDirectory;

it('timelines use at most a fifth of the request budget of their account, and the wait for the budget counts towards the time limit of the page', async () => {
  const acquired: unknown[][] = [];
  const limiter: RequestRateLimiter = {
    acquire: (...call) => {
      acquired.push(call);
      return Promise.resolve(300);
    },
  };
  const listMessages = jest.fn<BudgetedUpstream['listMessages']>();
  listMessages.mockImplementation(() => {
    expect(acquired).toHaveLength(1);
    return Promise.resolve({ items: [], skipped: 0 });
  });
  const remainingWait = { leftMs: 1_000 };
  await new TimelineUpstream({ listMessages }, ACCOUNTS, limiter).read('a', 'c1', 1, 20, remainingWait);
  expect(acquired).toEqual([['a', 2, 1_000]]);
  expect(listMessages.mock.calls).toEqual([['a', 'c1', 1, 20, 'read']]);
  expect(remainingWait.leftMs).toBe(700);
});

it('a timeline reports that the messages are unavailable, without a request, if its share of the budget is used up', async () => {
  const limiter: RequestRateLimiter = { acquire: () => Promise.reject(new BudgetExhaustedError(4_000)) };
  const listMessages = jest.fn<BudgetedUpstream['listMessages']>();
  const read = new TimelineUpstream({ listMessages }, ACCOUNTS, limiter).read('a', 'c1', 1, 20, {
    leftMs: 1_000,
  });
  await expect(read).rejects.toThrow(MessagesUnavailableError);
  expect(listMessages).not.toHaveBeenCalled();
});

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
