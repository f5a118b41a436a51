import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, pause, TimeLimit } from '#platform';
import { BudgetedUpstream, type PostToken } from './budgeted-upstream.js';
import { FAILURES_UNTIL_BREAKER_OPENS } from './circuit-breaker.js';
import type { BudgetTokenRenewal } from '../budget/budget-token-renewal.js';
import type { ContactReader } from '../reply/contact-list.js';
import {
  type AdaptiveBudget,
  BUDGET_TOKEN_TTL_MS,
  BudgetExhaustedError,
  type RequestClass,
} from '../budget/request-budget.js';
import {
  UpstreamConnectionLostError,
  UpstreamIsTidingsError,
  UpstreamReplyUnreadableError,
  UpstreamRequestNotSentError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnavailableError,
  UpstreamUnreachableError,
} from '../upstream-error.js';
import type { Outage, UnprobedRequest, UpstreamHealth } from './upstream-health.js';
import { hashUpstreamAddress } from '../upstream-address-hash.js';
import type { Upstream } from '../upstream.js';

/** Outcomes of the requests, in order. */
let ends: (Error | 'fine')[] = [];
let requests = 0;
let asked: string[] = [];
let outages: Map<string, Outage>;
let begun: Outage[];
/** For each recorded outage, and for each recorded success: what the request was for. */
let requestsOfOutages: (UnprobedRequest | undefined)[];
let successes: UnprobedRequest[];
let forbidden = 0;
let failedProbes: string[];
let limits: string[];
let broken = false;

const reader = (): ContactReader => ({ receive: () => false });
const end = (): Promise<{ items: never[]; skipped: number }> => {
  requests += 1;
  const next = ends.shift() ?? 'fine';
  return next === 'fine' ? Promise.resolve({ items: [], skipped: 0 }) : Promise.reject(next);
};
const upstream: Upstream = {
  send: async () => {
    await end();
  },
  listContacts: async (_, newReader) => {
    await end();
    return {
      upstream: 'test',
      reader: newReader(),
      skipped: 0,
      requestedContacts: () => Readable.from([]),
      close: () => Promise.resolve(),
    };
  },
  listMessages: end,
  readContactsText: async () => JSON.stringify((await end()).items),
  readMessagesText: async () => JSON.stringify((await end()).items),
};
const written = <T>(value: T): Promise<T> =>
  broken ? Promise.reject(new Error('Redis is away')) : Promise.resolve(value);
/** Replaces `RedisUpstreamHealth`, which contract tests check. */
const health: UpstreamHealth = {
  outage: (account) => Promise.resolve(outages.get(account)),
  recordOutage: (account, kind, reason, request) => {
    if (broken || outages.has(account)) return written(false);
    requestsOfOutages.push(request);
    const outage = { since: begun.length, kind, reason };
    outages.set(account, outage);
    begun.push(outage);
    return written(true);
  },
  recordSuccess: (_, request, beganAt) => {
    expect(beganAt).toBeLessThanOrEqual(performance.now());
    return written(void successes.push(request));
  },
  recordRecovery: (account) => written(outages.delete(account)),
  countForbidden: () => written((forbidden += 1)),
  resetForbidden: () => {
    forbidden = 0;
    return written(undefined);
  },
  claimProbeTurn: () => Promise.resolve('nothing'),
  returnProbeTurn: () => Promise.resolve(),
  recordFailedProbe: (_, kind, reason) => {
    failedProbes.push(`${kind}: ${reason}`);
    return written(undefined);
  },
};
const noteTaken = (account: string, rate: number, kind: RequestClass, unused = 0): void =>
  void asked.push(`${account} ${rate} ${kind}${unused === 0 ? '' : `, returns ${unused}`}`);
const budget: AdaptiveBudget = {
  tryAcquire: (account, rate, kind, unused) => {
    noteTaken(account, rate, kind, unused);
    return Promise.resolve({ waitMs: 0, requestedAt: performance.now() });
  },
  acquire: (account, rate, kind, _, unused) => {
    noteTaken(account, rate, kind, unused);
    return Promise.resolve(performance.now());
  },
  returnToken: () => Promise.resolve(),
  shrink: (account, rate) => written(void limits.push(`${account} ${rate} too many`)),
  grow: (account, rate) => written(void limits.push(`${account} ${rate} fine`)),
};
const MORE = { kind: 'more' } as const;
const silent = createLogger('test', 'silent');
const address = { baseUrl: 'http://u/v1', apiKey: 'k', requestsPerSecond: 10 };
const find = (): Promise<typeof address> => Promise.resolve(address);
const make = (within = budget): BudgetedUpstream =>
  new BudgetedUpstream(upstream, find, within, health, silent);
const send = { phoneNumber: '+15551234567', type: 'text', message: 'x' };
const status = (code: number): UpstreamStatusError => new UpstreamStatusError(code, '', undefined);
const lost = new UpstreamTimeoutError(10);

/** Checks that further requests of every kind are rejected for the account and do not reach upstream. */
async function expectNoMoreRequests(by: BudgetedUpstream): Promise<void> {
  const made = requests;
  for (const request of [
    () => by.takeBudgetToken('a', 'send'),
    () => by.listContacts('a', MORE, reader),
    () => by.listMessages('a', 'c', 1, 20, MORE),
    () => by.readContactsText('a', []),
    () => by.readMessagesText('a', 'c', []),
  ])
    await expect(request()).rejects.toThrow(UpstreamUnavailableError);
  expect(requests).toBe(made);
}

/** A token that does not expire. */
const VALID: PostToken = () => Promise.resolve();

/** Posts one send. Any upstream address may receive the POST, unless `expectedAddress` is given. */
const postOne = (by: BudgetedUpstream, token: PostToken = VALID, expectedAddress?: string): Promise<void> =>
  by.post('a', send, new TimeLimit(10_000), token, expectedAddress);

/** Makes these requests and ignores their outcomes. */
async function post(by: BudgetedUpstream, ...wanted: (Error | 'fine')[]): Promise<void> {
  ends = [...wanted];
  for (let i = 0; i < wanted.length; i += 1) await postOne(by).catch(() => undefined);
}

/** Reads pages of a contact, each with the given outcome. */
async function pages(
  one: BudgetedUpstream,
  ...reads: [page: number, limit: number, end: Error | 'fine'][]
): Promise<void> {
  for (const [page, limit, answer] of reads) {
    ends = [answer];
    await one.listMessages('a', 'c', page, limit, MORE).catch(() => undefined);
  }
}

beforeEach(() => {
  ends = [];
  requests = 0;
  asked = [];
  outages = new Map();
  begun = [];
  requestsOfOutages = [];
  successes = [];
  forbidden = 0;
  failedProbes = [];
  limits = [];
  broken = false;
});

describe('requests for an account whose upstream is down', () => {
  it.each([
    new UpstreamUnreachableError('ECONNREFUSED'),
    new UpstreamTimeoutError(10),
    new UpstreamConnectionLostError('ECONNRESET'),
    status(503),
  ])('are no longer sent after five consecutive requests have failed with: %s', async (error) => {
    const one = make();
    await post(one, ...Array<Error>(FAILURES_UNTIL_BREAKER_OPENS - 1).fill(error));
    expect(begun).toEqual([]);
    await post(one, error);
    expect(begun).toEqual([{ since: 0, kind: 'away', reason: error.message }]);
    await expectNoMoreRequests(one);
  });

  it('are no longer sent after five 5xx replies to reads of page 1; 5xx replies to reads of page 3 do not count', async () => {
    const one = make();
    for (let i = 0; i < FAILURES_UNTIL_BREAKER_OPENS; i += 1) {
      expect(begun).toEqual([]);
      await pages(one, [3, 20, status(503)], [1, 20, status(503)]);
    }
    expect(begun).toMatchObject([{ kind: 'away', reason: 'upstream answered 503' }]);
    await expectNoMoreRequests(one);
  });

  it('are no longer sent after five failures; the outage is recorded with the purpose of the last of these requests, or without a purpose if that request was for the contact list', async () => {
    const requestsOf = (one: BudgetedUpstream): Record<string, () => Promise<unknown>> => ({
      post: () => postOne(one),
      messages: () => one.listMessages('a', 'c', 1, 20, MORE),
      contacts: () => one.listContacts('a', MORE, reader),
    });
    for (const name of ['post', 'messages', 'contacts']) {
      outages.clear();
      ends = Array<Error>(FAILURES_UNTIL_BREAKER_OPENS).fill(status(503));
      const request = requestsOf(make())[name];
      while (ends.length > 0) await request?.().catch(() => undefined);
      ends = [];
      outages.clear();
      await requestsOf(make())[name]?.();
    }
    expect(requestsOfOutages).toEqual(['post', 'messages', undefined]);
    expect(successes).toEqual(['post', 'messages']);
  });

  it('are still sent if only contact lists fail, and a part of each list is received before its time limit', async () => {
    const one = make();
    for (let i = 0; i < 2 * FAILURES_UNTIL_BREAKER_OPENS; i += 1) {
      ends = [new UpstreamTimeoutError(10, { hasBegun: true })];
      await expect(one.listContacts('a', MORE, reader)).rejects.toThrow(UpstreamTimeoutError);
    }
    expect(begun).toEqual([]);
  });

  it('are no longer sent after five reads of page 3 have timed out', async () => {
    const one = make();
    for (let i = 0; i < FAILURES_UNTIL_BREAKER_OPENS; i += 1) {
      expect(begun).toEqual([]);
      await pages(one, [3, 20, lost]);
    }
    expect(begun).toMatchObject([{ kind: 'away' }]);
    await expectNoMoreRequests(one);
  });

  it('are rejected with the reason of the outage, and use none of the budget', async () => {
    outages.set('a', { since: 1, kind: 'away', reason: 'no route' });
    const one = make();
    const calls = [
      one.takeBudgetToken('a', 'send'),
      one.listContacts('a', MORE, reader),
      one.listMessages('a', 'c', 1, 20, 'read'),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(UpstreamUnavailableError);
    await expect(one.takeBudgetToken('a', 'send')).rejects.toThrow('no route');
    expect([requests, asked]).toEqual([0, []]);
    await one.listContacts('b', MORE, reader);
    expect(requests).toBe(1);
  });

  it('cause a new outage if enough requests fail again after another process recorded the end of the first outage', async () => {
    const one = make();
    await post(one, ...Array<Error>(FAILURES_UNTIL_BREAKER_OPENS).fill(lost));
    outages.clear();
    await one.takeBudgetToken('a', 'send');
    await post(one, 'fine', ...Array<Error>(FAILURES_UNTIL_BREAKER_OPENS - 1).fill(lost));
    expect(begun).toHaveLength(1);
    await post(one, lost);
    expect(begun).toHaveLength(2);
  });

  it('are rejected even if the outage could not be recorded in Redis, until the process finds that Redis has no record of an outage', async () => {
    broken = true;
    const one = make();
    await post(one, ...Array<Error>(FAILURES_UNTIL_BREAKER_OPENS).fill(lost));
    const made = requests;
    await expect(postOne(one)).rejects.toThrow(UpstreamUnavailableError);
    expect(requests).toBe(made);
    await one.takeBudgetToken('a', 'send');
    await postOne(one).catch(() => undefined);
    expect(requests).toBe(made + 1);
  });

  it('each get their answer or error, even if the outage cannot be recorded in Redis', async () => {
    broken = true;
    const one = make();
    await postOne(one);
    for (const error of [status(401), status(403), status(503)]) {
      ends = [error];
      await expect(postOne(one)).rejects.toBe(error);
    }
  });
});

describe('requests for an account whose upstream sometimes fails', () => {
  it.each(['fine', status(404), status(429), new UpstreamReplyUnreadableError('not JSON')] as const)(
    'are still sent if at most four consecutive requests fail, and the next request has the outcome: %s',
    async (answer) => {
      const one = make();
      for (let i = 0; i < 3; i += 1) await post(one, lost, lost, lost, lost, answer);
      expect(begun).toEqual([]);
    },
  );

  it.each([
    [2, 20],
    [1, 10],
    [1, 100],
  ])(
    'are still sent if upstream answers 5xx only to reads of page %d with limit %d, not to page 1 with limit 20',
    async (page, limit) => {
      const one = make();
      for (let i = 0; i < 3 * FAILURES_UNTIL_BREAKER_OPENS; i += 1)
        await pages(one, [page, limit, status(500)]);
      expect(begun).toEqual([]);
      await pages(one, [1, 20, 'fine']);
      expect(requests).toBe(3 * FAILURES_UNTIL_BREAKER_OPENS + 1);
    },
  );
});

describe('requests for an account that upstream refuses with 401 or 403', () => {
  it('are no longer sent after the first 401 answer', async () => {
    const one = make();
    ends = [status(401)];
    await expect(one.listContacts('a', MORE, reader)).rejects.toThrow('401');
    expect(begun).toMatchObject([{ kind: 'refused', reason: 'upstream answered 401' }]);
    await expectNoMoreRequests(one);
  });

  it('are no longer sent after the third consecutive 403 answer to a POST', async () => {
    const one = make();
    await post(one, status(403), status(403), 'fine', status(403), status(403), status(400));
    expect(begun).toEqual([]);
    await post(one, status(403), status(403), status(403));
    expect(begun).toMatchObject([{ kind: 'refused', reason: 'upstream answered 403' }]);
    await expectNoMoreRequests(one);
  });

  it('are still sent if upstream refuses only reads with 403', async () => {
    const one = make();
    ends = [status(403), status(403), status(403), status(403)];
    for (let i = 0; i < 4; i += 1) await one.listMessages('a', 'c', 1, 20, MORE).catch(() => undefined);
    expect(begun).toEqual([]);
    await one.listMessages('a', 'c', 1, 20, MORE);
    expect(requests).toBe(5);
  });
});

describe('requests for an account whose upstream address is the address of a Tidings gateway', () => {
  it.each(['a send', 'a list', "a caller's read"])(
    'are no longer sent after the gateway has answered %s',
    async (asked) => {
      const one = make();
      const circle = new UpstreamIsTidingsError(false);
      ends = [circle];
      const request = {
        'a send': () => postOne(one),
        'a list': () => one.listContacts('a', MORE, reader),
        "a caller's read": () => one.readContactsText('a', []),
      }[asked];
      await expect(request?.()).rejects.toBe(circle);
      expect(begun).toMatchObject([{ kind: 'loop', reason: circle.message }]);
      await expectNoMoreRequests(one);
    },
  );
});

describe('a POST that only one upstream address may receive', () => {
  it('is not sent if the account has another address now', async () => {
    const one = make();
    const to = (expected: string): Promise<void> => postOne(one, VALID, expected);
    await expect(to('hash of another address')).rejects.toThrow(UpstreamRequestNotSentError);
    expect(requests).toBe(0);
    await to(hashUpstreamAddress(address.baseUrl));
    expect(requests).toBe(1);
  });
});

describe('a probe of an unavailable upstream', () => {
  const during = (kind: Outage['kind']): void => void outages.set('a', { since: 1, kind, reason: 'x' });

  it('reads the contact list with a token of the budget, and ends the outage', async () => {
    during('away');
    await make().probe('a');
    expect([requests, asked, outages.size]).toEqual([1, ['a 10 send'], 0]);
  });

  it('returns its token and takes another one if the token expires while the connection is opened', async () => {
    during('away');
    const slowToConnect: Upstream = {
      ...upstream,
      listContacts: async (to, newReader) => {
        while (to.tokenRenewal?.isExpired?.() === false) await pause(5);
        await to.tokenRenewal?.();
        return upstream.listContacts(to, newReader);
      },
    };
    await new BudgetedUpstream(slowToConnect, find, budget, health, silent).probe('a');
    expect([requests, asked]).toEqual([1, ['a 10 send', 'a 10 send, returns 1']]);
  });

  it('makes no request if the outage has ended', async () => {
    await make().probe('a');
    expect(requests).toBe(0);
  });

  it.each([
    ['away', lost, 'away'],
    ['refused', lost, 'refused'],
    ['away', status(502), 'away'],
    ['away', status(401), 'refused'],
    ['refused', status(401), 'refused'],
    ['refused', status(403), 'refused'],
    ['away', new UpstreamIsTidingsError(false), 'loop'],
    ['loop', new UpstreamIsTidingsError(true), 'loop'],
  ] as const)(
    'delays the next probe if its error shows that the outage continues (kind of outage: "%s", error: "%s")',
    async (kind, error, next) => {
      during(kind);
      ends = [error];
      await make().probe('a');
      expect(failedProbes).toEqual([`${next}: ${error.message}`]);
      expect(outages.size).toBe(1);
    },
  );

  it.each([
    ['away', status(403)],
    ['away', status(404)],
    ['refused', status(429)],
    ['refused', new UpstreamReplyUnreadableError('not JSON')],
    ['away', new UpstreamTimeoutError(10, { hasBegun: true })],
    ['away', new UpstreamConnectionLostError('reset', { hasBegun: true })],
  ] as const)(
    'ends the outage if the answer shows that upstream is available (kind of outage: "%s", answer: "%s")',
    async (kind, answer) => {
      during(kind);
      ends = [answer];
      await make().probe('a');
      expect(outages.size).toBe(0);
    },
  );
});

describe('the budget of an account', () => {
  it('gives one token to each read, and one token to each send before its POST', async () => {
    const one = make();
    await one.listContacts('a', 'read', reader);
    await one.listMessages('a', 'c', 1, 20, MORE);
    await one.takeBudgetToken('a', 'send');
    await postOne(one);
    expect(asked).toEqual(['a 10 read', 'a 10 more', 'a 10 send']);
  });

  it('gives reads of API callers tokens of their own class "read", not of the class of sends', async () => {
    const one = make();
    await one.readContactsText('a', []);
    await one.readMessagesText('a', 'c', []);
    expect(asked).toEqual(['a 10 read', 'a 10 read']);
  });

  it.each([
    ['a poll', (one: BudgetedUpstream) => one.takeBudgetToken('a', MORE)],
    ['a send', (one: BudgetedUpstream) => one.takeBudgetToken('a', 'send')],
    [
      'a send whose token was taken in the same step in which the send was marked',
      async () => {
        const renewals: BudgetTokenRenewal[] = [];
        const noting: Upstream = {
          ...upstream,
          send: ({ tokenRenewal }) => {
            if (tokenRenewal !== undefined) renewals.push(tokenRenewal);
            return Promise.resolve();
          },
        };
        const token = { requestedAt: performance.now() - BUDGET_TOKEN_TTL_MS - 1 };
        await postOne(new BudgetedUpstream(noting, find, budget, health, silent), token);
        const [renewal] = renewals;
        if (renewal === undefined) throw new Error('the POST got no token');
        return renewal;
      },
    ],
  ])('gets exactly one token back for each expired token of %s', async (_, take) => {
    const renew = await take(make());
    asked = [];
    while (renew.isExpired?.() === false) await pause(5);
    await renew();
    expect(asked).toEqual([expect.stringContaining(', returns 1')]);
  });

  it('is lowered by each 429 answer and raised by each successful answer', async () => {
    const one = make();
    await post(one, status(429), 'fine', status(500));
    ends = [status(429)];
    await one.listContacts('a', MORE, reader).catch(() => undefined);
    expect(limits).toEqual(['a 10 too many', 'a 10 fine', 'a 10 too many']);
  });

  it('prevents requests when it is used up, but starts no outage', async () => {
    const full = new BudgetExhaustedError(5);
    const one = make({ ...budget, acquire: () => Promise.reject(full) });
    for (let i = 0; i < FAILURES_UNTIL_BREAKER_OPENS; i += 1)
      await expect(one.listContacts('a', 'read', reader)).rejects.toBe(full);
    expect([requests, begun]).toEqual([0, []]);
  });

  it.each([
    ['lookup', 'send'],
    ['confirmation', 'read'],
  ] as const)(
    'lets each request of a look-up (%s) wait longer for a token than a send',
    async (purpose, kind) => {
      const one = make({
        ...budget,
        acquire: (account, rate, wanted, patienceMs) => {
          asked.push(`${account} ${rate} ${wanted}`);
          return patienceMs < 6_000
            ? Promise.reject(new BudgetExhaustedError(6_000))
            : Promise.resolve(performance.now());
        },
      });
      for (const page of [1, 2]) await one.listMessages('a', 'c', page, 20, purpose);
      expect([requests, asked]).toEqual([2, Array<string>(2).fill(`a 10 ${kind}`)]);
      await expect(one.takeBudgetToken('a', 'send')).rejects.toThrow(BudgetExhaustedError);
    },
  );

  it('lets any number of polls wait without a memory leak warning from Node.js, and ends their waits when the process stops', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    const one = make({
      ...budget,
      tryAcquire: () => Promise.resolve({ waitMs: 60_000, requestedAt: performance.now() }),
    });
    const waiting = Array.from({ length: 20 }, () => one.listMessages('a', 'c', 1, 20, { kind: 'more' }));
    const ended = Promise.allSettled(waiting);
    // Node emits the warning in a later turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    one.stopWaiting();
    const results = await ended;
    process.off('warning', note);
    expect(results.map(({ status: result }) => result)).toEqual(Array<string>(20).fill('rejected'));
    expect(warnings).toEqual([]);
  });
});
