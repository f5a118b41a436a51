import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  ClaimedPoll,
  ClaimedRead,
  ClaimReply,
  EndedClaim,
  NextDueTime,
  PollKind,
  PollQueue,
  PollOutcome,
} from '#feed';
import { createLogger } from '#platform';
import { BudgetExhaustedError, UpstreamStatusError, UpstreamTimeoutError } from '#upstream';
import { eventually } from '../../../../test/support/eventually.js';
import { Poller } from './poller.js';

const ACCOUNT = 'default';
const LOGGER = createLogger('test', 'silent');

/** Fake queue with due contacts and tokens. Reads last until the test ends them. */
class FakeQueue implements PollQueue {
  readonly started: string[] = [];
  readonly reads = new Map<string, ClaimedRead>();
  readonly ended = new Map<string, PollOutcome>();
  readonly agendaTimes: number[] = [];
  account = { id: ACCOUNT, requestsPerSecond: 100, polling: true };
  held = false;
  tokens = Infinity;
  tokenWaitMs = 1;
  returnedTokens = 0;
  claims = 0;
  lostLeases = new Set<string>();
  emptyReply: ClaimReply = {};
  /** Called during a claim that finds no due contact. */
  duringEmptyClaim = (): void => undefined;
  private readonly ends = new Map<string, (error?: Error) => void>();

  constructor(readonly due: [id: string, kind: PollKind][]) {}

  claim(): Promise<ClaimReply> {
    this.claims += 1;
    const [next] = this.due;
    if (next === undefined) {
      this.duringEmptyClaim();
      return Promise.resolve(this.emptyReply);
    }
    if (this.tokens === 0) return Promise.resolve({ waitMs: this.tokenWaitMs });
    this.tokens -= 1;
    this.due.shift();
    const [contactId, kind] = next;
    const claimed: ClaimedPoll = {
      kind,
      contactId,
      overdueMs: 3,
      consecutiveFailures: 2,
      lease: contactId,
      isUpstreamAvailable: true,
    };
    const nextDue = this.due.length > 0 ? { nextDueAt: 1, nextDueInMs: 0 } : this.emptyReply;
    return Promise.resolve({ claimed, tokenRequestedAt: 7, availableForPolls: 60, ...nextDue });
  }

  renew(_: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]> {
    return Promise.resolve(claims.filter(({ contactId }) => this.lostLeases.has(contactId)));
  }

  end(_: string, { contactId }: ClaimedPoll, how: PollOutcome): Promise<EndedClaim> {
    this.ended.set(contactId, how);
    return Promise.resolve(
      this.due.length > 0 ? { nextDueAt: 1, nextDueInMs: 0 } : (this.emptyReply as NextDueTime),
    );
  }

  poller(maxReads = 1_000): Poller {
    const read = (contactId: string, given: ClaimedRead): Promise<boolean> => {
      this.started.push(contactId);
      this.reads.set(contactId, given);
      return new Promise((resolve, reject) => {
        given.signal.addEventListener('abort', () => {
          reject(new BudgetExhaustedError(1));
        });
        this.ends.set(contactId, (error) => {
          if (error === undefined) resolve(true);
          else reject(error);
        });
      });
    };
    return new Poller(
      {
        queue: this,
        contacts: {
          pollNewMessages: (_, contactId, given) => read(contactId, given),
          runDeepRead: (_, contactId, given) => read(contactId, given),
        },
        agenda: {
          announceDue: (_, dueAtMs) => {
            this.agendaTimes.push(dueAtMs);
          },
        },
        accounts: { find: () => Promise.resolve(this.account as never) },
        health: {
          outage: () => Promise.resolve(this.held ? { since: 0, kind: 'away', reason: 'test' } : undefined),
        },
        budget: {
          returnToken: () => {
            this.returnedTokens += 1;
            return Promise.resolve();
          },
        },
        logger: LOGGER,
      },
      maxReads,
    );
  }

  endAll(): void {
    for (const contactId of this.started) this.endRead(contactId);
  }

  endRead(contactId: string, error?: Error): void {
    const read = this.reads.get(contactId);
    if (read !== undefined) delete read.tokenRequestedAt;
    this.ends.get(contactId)?.(error);
  }
}

/** Waits until all pending promise callbacks have run. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
};

let contacts: FakeQueue;
let poller: Poller;

const start = (given = contacts, maxReads?: number): void => {
  poller = given.poller(maxReads);
  poller.check(ACCOUNT);
};

beforeEach(() => {
  contacts = new FakeQueue(Array.from({ length: 40 }, (_, n) => [`c_${n}`, 'head']));
});

afterEach(async () => {
  poller.stop();
  contacts.endAll();
  await poller.ended();
});

describe('a worker that polls an account with contacts due for polling', () => {
  it('waits for the budgets of any number of accounts without a memory leak warning from Node.js', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    [contacts.tokens, contacts.tokenWaitMs] = [0, 60_000];
    poller = contacts.poller();
    for (let account = 0; account < 20; account += 1) poller.check(`acc_${account}`);
    await eventually('every account waits', () => contacts.claims === 20);
    await settle();
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('starts each read as soon as the request budget allows it, without waiting for earlier reads to end', async () => {
    contacts.tokens = 3;
    start();
    await settle();
    expect(contacts.started).toEqual(['c_0', 'c_1', 'c_2']);
    contacts.tokens = 1;
    await eventually('the next contact is read', () => contacts.started.length === 4);
    contacts.tokens = Infinity;
    await eventually('all contacts are read', () => contacts.started.length === 40);
  });

  it('counts as limited by the budget while its loop waits for tokens, and no longer after the loop has ended', async () => {
    [contacts.tokens, contacts.tokenWaitMs] = [2, 1];
    start();
    expect(poller.isLimitedByBudget(ACCOUNT)).toBe(false);
    await settle();
    expect([contacts.started.length, poller.isLimitedByBudget(ACCOUNT)]).toEqual([2, true]);
    expect(poller.isLimitedByBudget('another account')).toBe(false);
    contacts.tokens = Infinity;
    await eventually('all contacts are read', () => contacts.started.length === 40);
    contacts.endAll();
    await eventually('the loop has ended', () => !poller.isLimitedByBudget(ACCOUNT));
  });

  it('starts each read with a token for one upstream request, and with the budget that is available to polls', async () => {
    start();
    await settle();
    expect(contacts.reads.get('c_0')).toMatchObject({
      kind: 'head',
      tokenRequestedAt: 7,
      availableForPolls: 60,
    });
  });

  it('gives the token of a read back to the budget if the read made no request to upstream', async () => {
    contacts.due.length = 1;
    start();
    await settle();
    const token = contacts.reads.get('c_0');
    contacts.endRead('c_0');
    if (token !== undefined) token.tokenRequestedAt = 7;
    await settle();
    expect(contacts.returnedTokens).toBe(1);
  });

  it('leaves some read slots of the process free for other accounts, and starts the next read when a read ends', async () => {
    start(contacts, 20);
    await settle();
    expect(contacts.started).toHaveLength(10);
    poller.check('another');
    await settle();
    expect(contacts.started).toHaveLength(15);
    contacts.endRead('c_0');
    await eventually('the free slot is used', () => contacts.started.length > 15);
  });

  it('claims as many contacts in one step as slots are free, as long as every claim finds a contact', async () => {
    const steps: number[] = [];
    const claim = contacts.claim.bind(contacts);
    let claims = 0;
    contacts.claim = () => {
      if (claims === 0)
        queueMicrotask(() => {
          steps.push(claims);
          claims = 0;
        });
      claims += 1;
      return claim();
    };
    start(contacts, 20);
    await settle();
    expect(steps).toEqual([1, 2, 4, 3]);
    for (let read = 0; read < 6; read += 1) contacts.endRead(`c_${read}`);
    await eventually('more contacts are claimed', () => steps.length > 4);
    expect(steps[4]).toBe(6);
  });

  it('never has more reads than the maximum, even if many accounts claim at once and the claims are answered late', async () => {
    contacts = new FakeQueue(Array.from({ length: 300 }, (_, n) => [`c_${n}`, 'head']));
    const claim = contacts.claim.bind(contacts);
    contacts.claim = async () => {
      await nextTurn();
      return claim();
    };
    poller = contacts.poller(20);
    for (let account = 0; account < 30; account += 1) poller.check(`acc_${account}`);
    for (const maximum of [20, 40, 60, 80]) {
      await eventually('every slot is used', () => contacts.started.length >= maximum);
      await settle();
      expect(contacts.started).toHaveLength(maximum);
      contacts.endAll();
    }
  });

  it('also reads the older messages of a contact if the poll queue requests a deep read', async () => {
    contacts = new FakeQueue([['d', 'deep']]);
    start();
    await settle();
    expect(contacts.reads.get('d')?.kind).toBe('deep');
  });

  it.each([
    ['upstream is unavailable', () => (contacts.held = true)],
    ['polling of the account is turned off', () => (contacts.account.polling = false)],
  ])('claims no contact from the poll queue while %s', async (_, turn) => {
    turn();
    start();
    await settle();
    expect(contacts.claims).toBe(0);
  });
});

describe('a worker that polls an account until no further contact is due', () => {
  beforeEach(() => {
    contacts = new FakeQueue([]);
  });

  it('schedules the account again for the time at which its next contact is due', async () => {
    contacts.emptyReply = { nextDueAt: 123_000, nextDueInMs: 60_000 };
    start();
    await settle();
    expect(contacts.agendaTimes).toEqual([123_000]);
  });

  it('learns the next due time from the poll queue when it reports the end of a read, and makes no further claim', async () => {
    contacts.due.push(['c', 'head']);
    contacts.emptyReply = { nextDueAt: 123_000, nextDueInMs: 60_000 };
    start();
    await settle();
    expect([contacts.started, contacts.claims, contacts.agendaTimes]).toEqual([['c'], 1, []]);
    contacts.endRead('c');
    await eventually('the account is scheduled', () => contacts.agendaTimes.length > 0);
    expect([contacts.claims, contacts.agendaTimes]).toEqual([1, [123_000]]);
  });

  it('returns the next due time to the caller of checkAndWait, or writes the time to the agenda if the caller no longer waits', async () => {
    contacts.due.push(['c', 'head'], ['d', 'head']);
    contacts.emptyReply = { nextDueAt: 123_000, nextDueInMs: 60_000 };
    poller = contacts.poller();
    const waiting = poller.checkAndWait(ACCOUNT, 10_000);
    await settle();
    contacts.endAll();
    expect([await waiting, contacts.agendaTimes]).toEqual([60_000, []]);
    contacts.due.push(['e', 'head']);
    expect(await poller.checkAndWait(ACCOUNT, 20)).toBeUndefined();
    contacts.endRead('e');
    await eventually('the account is scheduled', () => contacts.agendaTimes.length > 0);
  });

  it('continues when a read ends that is still running after an outage, and schedules the account only after its last read', async () => {
    contacts.due.push(['c', 'head'], ['d', 'head']);
    contacts.emptyReply = { nextDueAt: 123_000, nextDueInMs: 60_000 };
    poller = contacts.poller();
    poller.check(ACCOUNT);
    await settle();
    contacts.held = true;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await poller.checkAndWait(ACCOUNT, 10_000)).toBeUndefined();
    contacts.held = false;
    contacts.due.push(['e', 'head']);
    contacts.endRead('c');
    await settle();
    contacts.endRead('e');
    await settle();
    expect([contacts.started, contacts.agendaTimes]).toEqual([['c', 'd', 'e'], []]);
    contacts.endRead('d');
    await eventually('the account is scheduled', () => contacts.agendaTimes.length > 0);
  });

  it('waits for a contact that is due within a second, and then reads that contact', async () => {
    contacts.emptyReply = { nextDueAt: 123_000, nextDueInMs: 20 };
    start();
    await settle();
    contacts.due.push(['c', 'head']);
    await eventually('the contact is read', () => contacts.started.length === 1);
    expect(contacts.agendaTimes).toEqual([]);
  });

  it('claims contacts at once after a wake-up, even if the wake-up arrives during another claim', async () => {
    contacts.emptyReply = { nextDueAt: 123_000, nextDueInMs: 900 };
    start();
    await settle();
    const begun = performance.now();
    contacts.due.push(['c', 'head']);
    poller.check(ACCOUNT);
    await settle();
    expect(contacts.started).toEqual(['c']);
    expect(performance.now() - begun).toBeLessThan(800);
    contacts.emptyReply = {};
    contacts.duringEmptyClaim = (): void => {
      contacts.duringEmptyClaim = (): void => undefined;
      contacts.due.push(['d', 'head']);
      poller.check(ACCOUNT);
    };
    poller.check(ACCOUNT);
    await settle();
    expect(contacts.started).toEqual(['c', 'd']);
  });
});

describe('a read of a contact', () => {
  const cases: [string, PollOutcome, Error | undefined][] = [
    ['that was committed', 'done', undefined],
    ['that ended in an upstream timeout', 'failed', new UpstreamTimeoutError(1)],
    ['that threw an unexpected error', 'failed', new Error('broken')],
    ['that upstream rejected with 429', 'postponed', new UpstreamStatusError(429, '', undefined)],
    ['that got no request budget', 'aborted', new BudgetExhaustedError(1)],
  ];
  it.each(cases)('%s is reported to the poll queue as "%s"', async (_, how, error) => {
    contacts.due.length = 1;
    start();
    await settle();
    contacts.endRead('c_0', error);
    await settle();
    expect(contacts.ended.get('c_0')).toBe(how);
  });

  it('is aborted after another worker has taken over the contact, while reads of other contacts continue', async () => {
    contacts.due.length = 2;
    start();
    await settle();
    contacts.lostLeases.add('c_0');
    await eventually('the read has ended', () => contacts.ended.get('c_0') === 'aborted');
    expect(contacts.reads.get('c_1')?.signal.aborted).toBe(false);
  });
});

describe('a worker that is stopping', () => {
  it('starts no read of a contact that it claimed meanwhile, hands the contact back, and returns the token', async () => {
    const claim = contacts.claim.bind(contacts);
    contacts.claim = async () => {
      const reply = await claim();
      poller.stop();
      return reply;
    };
    start();
    await settle();
    expect(contacts.started).toEqual([]);
    await poller.ended();
    expect([...contacts.ended]).toEqual([['c_0', 'aborted']]);
    expect(contacts.returnedTokens).toBe(1);
  });

  it('starts no read, aborts its unfinished reads and hands their contacts back to the poll queue', async () => {
    contacts.tokens = 2;
    start();
    await settle();
    poller.stop();
    contacts.tokens = 10;
    poller.check(ACCOUNT);
    await poller.ended();
    expect(contacts.started).toHaveLength(2);
    expect([...contacts.ended.values()]).toEqual(['aborted', 'aborted']);
  });
});
