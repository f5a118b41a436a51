import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { AccountUpstream } from './account-upstream.js';
import { BudgetExhaustedError, type RequestBudget } from './request-budget.js';
import {
  UpstreamConnectionLostError,
  UpstreamReplyError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from './upstream-error.js';
import type { UpstreamHealth } from './upstream-health.js';
import type { Upstream } from './upstream.js';

/** What each request comes to; the next of the list. */
let ends: (Error | 'fine')[] = [];
let asked: string[] = [];
let down: Map<string, string>;
let notes: string[] = [];
let broken = false;

const end = (): Promise<{ items: never[]; skipped: number }> => {
  const next = ends.shift() ?? 'fine';
  return next === 'fine' ? Promise.resolve({ items: [], skipped: 0 }) : Promise.reject(next);
};
const upstream: Upstream = {
  send: async () => {
    await end();
  },
  listContacts: end,
  listMessages: end,
};
const health: Pick<UpstreamHealth, 'well' | 'down'> = {
  well: (account) => {
    notes.push('well');
    return broken ? Promise.reject(new Error('Redis is away')) : Promise.resolve(down.delete(account));
  },
  down: (account, reason) => {
    notes.push('down');
    const news = !down.has(account);
    down.set(account, reason);
    return broken ? Promise.reject(new Error('Redis is away')) : Promise.resolve(news);
  },
};
const budget: RequestBudget = {
  acquire: (account, rate, kind) => {
    asked.push(`${account} ${rate} ${kind}`);
    return Promise.resolve();
  },
};
const silent = createLogger('test', 'silent');
const address = { baseUrl: 'http://u/v1', apiKey: 'k', requestsPerSecond: 10 };
const find = (): Promise<typeof address> => Promise.resolve(address);
const make = (within = budget): AccountUpstream =>
  new AccountUpstream(upstream, find, within, health, silent);
const send = { phoneNumber: '+15551234567', type: 'text', message: 'x' };

beforeEach(() => {
  ends = [];
  asked = [];
  notes = [];
  down = new Map();
  broken = false;
});

describe('the health of upstream', () => {
  it.each([
    new UpstreamUnreachableError('ECONNREFUSED'),
    new UpstreamTimeoutError(10),
    new UpstreamStatusError(503, '', undefined),
    new UpstreamStatusError(401, '', undefined),
  ])('is noted as down by: %s', async (error) => {
    ends = [error];
    await expect(make().post('a', send)).rejects.toBe(error);
    expect(down.get('a')).toBe(error.message);
  });

  it.each([new UpstreamStatusError(404, '', undefined), new UpstreamStatusError(429, '', 1_000)])(
    'is not doubted for an answer such as: %s',
    async (error) => {
      down.set('a', 'before');
      ends = [error];
      await expect(make().listContacts('a', 'read')).rejects.toBe(error);
      expect(down.has('a')).toBe(false);
    },
  );

  it.each([new UpstreamConnectionLostError('ECONNRESET'), new UpstreamReplyError('not JSON')])(
    'is left as it was by: %s',
    async (error) => {
      down.set('a', 'before');
      ends = [error];
      await expect(make().listContacts('a', 'read')).rejects.toBe(error);
      expect(down.get('a')).toBe('before');
    },
  );

  it('is noted as well by the next answer', async () => {
    const one = make();
    ends = [new UpstreamTimeoutError(10), 'fine'];
    await expect(one.post('a', send)).rejects.toThrow();
    await one.post('a', send);
    expect(down.has('a')).toBe(false);
  });

  it('is noted as well by a process that comes after the one that saw it down', async () => {
    ends = [new UpstreamTimeoutError(10)];
    await expect(make().post('a', send)).rejects.toThrow();
    await make().post('a', send);
    expect(down.has('a')).toBe(false);
  });

  it('costs nothing while it stays well, and is noted each time it is down', async () => {
    const one = make();
    for (let i = 0; i < 5; i += 1) await one.listMessages('a', 'c', 1, 20, 'poll');
    expect(notes).toEqual(['well']);
    ends = [new UpstreamTimeoutError(10), new UpstreamTimeoutError(10)];
    for (let i = 0; i < 2; i += 1) await expect(one.post('a', send)).rejects.toThrow();
    expect(notes).toEqual(['well', 'down', 'down']);
  });

  it('never hides how a request ended, even if it cannot be noted', async () => {
    broken = true;
    const error = new UpstreamStatusError(503, '', undefined);
    ends = ['fine', error];
    const one = make();
    await one.post('a', send);
    await expect(one.post('a', send)).rejects.toBe(error);
  });
});

describe('the budget', () => {
  it('is asked for each read in its class, and before a send by the one who sends', async () => {
    const one = make();
    await one.listContacts('a', 'read');
    await one.listMessages('a', 'c', 1, 20, 'poll');
    await one.admit('a', 'send');
    await one.post('a', send);
    expect(asked).toEqual(['a 10 read', 'a 10 poll', 'a 10 send']);
  });

  it('that is used up keeps a request from leaving, and says nothing about health', async () => {
    ends = [new UpstreamTimeoutError(10)];
    const full = new BudgetExhaustedError(5);
    const one = make({ acquire: () => Promise.reject(full) });
    await expect(one.listContacts('a', 'poll')).rejects.toBe(full);
    expect(ends).toHaveLength(1);
    expect(notes).toEqual([]);
  });
});
