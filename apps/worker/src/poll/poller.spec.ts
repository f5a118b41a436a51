import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  ClaimedPoll,
  ClaimedRead,
  ClaimReply,
  EndedClaim,
  NextDue,
  PollKind,
  PollQueue,
  ReadEnd,
} from '#feed';
import { createLogger } from '#platform';
import { BudgetExhaustedError, UpstreamStatusError, UpstreamTimeoutError } from '#upstream';
import { eventually } from '../../../../test/support/eventually.js';
import { Poller } from './poller.js';

const A = 'default';
const LOGGER = createLogger('test', 'silent');

/** Contacts that are due, tokens for them, and reads that last until they are told to end. */
class DueContacts implements PollQueue {
  readonly begun: string[] = [];
  readonly reads = new Map<string, ClaimedRead>();
  readonly ended = new Map<string, ReadEnd>();
  readonly agenda: number[] = [];
  account = { id: A, requestsPerSecond: 100, polling: true };
  held = false;
  tokens = Infinity;
  returned = 0;
  asked = 0;
  lost = new Set<string>();
  idle: ClaimReply = {};
  /** Happens while a claim is under way that finds nothing. */
  meanwhile = (): void => undefined;
  private readonly ends = new Map<string, (error?: Error) => void>();

  constructor(readonly due: [id: string, kind: PollKind][]) {}

  claim(): Promise<ClaimReply> {
    this.asked += 1;
    const [next] = this.due;
    if (next === undefined) {
      this.meanwhile();
      return Promise.resolve(this.idle);
    }
    if (this.tokens === 0) return Promise.resolve({ waitMs: 1 });
    this.tokens -= 1;
    this.due.shift();
    const [contactId, kind] = next;
    const claimed: ClaimedPoll = { kind, contactId, lateMs: 3, failed: 2, lease: contactId };
    const nextDue = this.due.length > 0 ? { nextDueAt: 1, nextDueInMs: 0 } : this.idle;
    return Promise.resolve({ claimed, tokenAskedAt: 7, availableForPolls: 60, ...nextDue });
  }

  renew(_: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]> {
    return Promise.resolve(claims.filter(({ contactId }) => this.lost.has(contactId)));
  }

  end(_: string, { contactId }: ClaimedPoll, how: ReadEnd): Promise<EndedClaim> {
    this.ended.set(contactId, how);
    return Promise.resolve(this.due.length > 0 ? { nextDueAt: 1, nextDueInMs: 0 } : (this.idle as NextDue));
  }

  poller(maxReads = 1_000): Poller {
    const read = (contactId: string, given: ClaimedRead): Promise<boolean> => {
      this.begun.push(contactId);
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
          pollNews: (_, contactId, given) => read(contactId, given),
          readDeep: (_, contactId, given) => read(contactId, given),
        },
        agenda: {
          at: (_, dueAtMs) => {
            this.agenda.push(dueAtMs);
          },
        },
        accounts: { find: () => Promise.resolve(this.account as never) },
        upstream: { isHeld: () => Promise.resolve(this.held) },
        budget: {
          giveBack: () => {
            this.returned += 1;
            return Promise.resolve();
          },
        },
        logger: LOGGER,
      },
      maxReads,
    );
  }

  endAll(): void {
    for (const contactId of this.begun) this.end_(contactId);
  }

  end_(contactId: string, error?: Error): void {
    const read = this.reads.get(contactId);
    if (read !== undefined) delete read.token;
    this.ends.get(contactId)?.(error);
  }
}

/** All that is going to happen by itself has happened. */
const quiet = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
};

let contacts: DueContacts;
let poller: Poller;

const start = (given = contacts, maxReads?: number): void => {
  poller = given.poller(maxReads);
  poller.look(A);
};

beforeEach(() => {
  contacts = new DueContacts(Array.from({ length: 40 }, (_, n) => [`c_${n}`, 'head']));
});

afterEach(async () => {
  poller.stop();
  contacts.endAll();
  await poller.ended();
});

describe('a worker that is hinted at an account with contacts that are due', () => {
  it('reads each as soon as it has a token for it, without waiting for the others', async () => {
    contacts.tokens = 3;
    start();
    await quiet();
    expect(contacts.begun).toEqual(['c_0', 'c_1', 'c_2']);
    contacts.tokens = 1;
    await eventually('the next one is read', () => contacts.begun.length === 4);
    contacts.tokens = Infinity;
    await eventually('all are read', () => contacts.begun.length === 40);
  });

  it('hands each read its token and what is known of the contact', async () => {
    start();
    await quiet();
    expect(contacts.reads.get('c_0')).toMatchObject({
      kind: 'head',
      token: 7,
      failed: 2,
      lateMs: 3,
      availableForPolls: 60,
    });
  });

  it('gives back the token of a read that made no request', async () => {
    contacts.due.length = 1;
    start();
    await quiet();
    const token = contacts.reads.get('c_0');
    contacts.end_('c_0');
    if (token !== undefined) token.token = 7;
    await quiet();
    expect(contacts.returned).toBe(1);
  });

  it('has so many reads under way that another account finds room, and goes on when one ends', async () => {
    start(contacts, 20);
    await quiet();
    expect(contacts.begun).toHaveLength(10);
    poller.look('another');
    await quiet();
    expect(contacts.begun).toHaveLength(15);
    contacts.end_('c_0');
    await eventually('the room is used', () => contacts.begun.length > 15);
  });

  it('makes deep reads as it is told', async () => {
    contacts = new DueContacts([['d', 'deep']]);
    start();
    await quiet();
    expect(contacts.reads.get('d')?.kind).toBe('deep');
  });

  it.each([
    ['upstream is away', () => (contacts.held = true)],
    ['the account is not polled', () => (contacts.account.polling = false)],
  ])('claims nothing while %s', async (_, turn) => {
    turn();
    start();
    await quiet();
    expect(contacts.asked).toBe(0);
  });
});

describe('a worker that finds nobody due', () => {
  beforeEach(() => {
    contacts = new DueContacts([]);
  });

  it('tells the agenda when somebody is', async () => {
    contacts.idle = { nextDueAt: 123_000, nextDueInMs: 60_000 };
    start();
    await quiet();
    expect(contacts.agenda).toEqual([123_000]);
  });

  it('asks once to begin a read, and learns from its end what to tell the agenda', async () => {
    contacts.due.push(['c', 'head']);
    contacts.idle = { nextDueAt: 123_000, nextDueInMs: 60_000 };
    start();
    await quiet();
    expect([contacts.begun, contacts.asked, contacts.agenda]).toEqual([['c'], 1, []]);
    contacts.end_('c');
    await eventually('the agenda is told', () => contacts.agenda.length > 0);
    expect([contacts.asked, contacts.agenda]).toEqual([1, [123_000]]);
  });

  it('answers whoever waits for it instead of the agenda, unless that takes too long', async () => {
    contacts.due.push(['c', 'head'], ['d', 'head']);
    contacts.idle = { nextDueAt: 123_000, nextDueInMs: 60_000 };
    poller = contacts.poller();
    const waiting = poller.lookAndWait(A, 10_000);
    await quiet();
    contacts.endAll();
    expect([await waiting, contacts.agenda]).toEqual([60_000, []]);
    contacts.due.push(['e', 'head']);
    expect(await poller.lookAndWait(A, 20)).toBeUndefined();
    contacts.end_('e');
    await eventually('the agenda is told', () => contacts.agenda.length > 0);
  });

  it('stays where somebody is due within a second', async () => {
    contacts.idle = { nextDueAt: 123_000, nextDueInMs: 20 };
    start();
    await quiet();
    contacts.due.push(['c', 'head']);
    await eventually('it is read', () => contacts.begun.length === 1);
    expect(contacts.agenda).toEqual([]);
  });

  it('looks at once when it is hinted, also while it asks', async () => {
    contacts.idle = { nextDueAt: 123_000, nextDueInMs: 900 };
    start();
    await quiet();
    const begun = performance.now();
    contacts.due.push(['c', 'head']);
    poller.look(A);
    await quiet();
    expect(contacts.begun).toEqual(['c']);
    expect(performance.now() - begun).toBeLessThan(800);
    contacts.idle = {};
    contacts.meanwhile = (): void => {
      contacts.meanwhile = (): void => undefined;
      contacts.due.push(['d', 'head']);
      poller.look(A);
    };
    poller.look(A);
    await quiet();
    expect(contacts.begun).toEqual(['c', 'd']);
  });
});

describe('a read', () => {
  const cases: [string, Error | undefined, ReadEnd][] = [
    ['that was committed', undefined, 'done'],
    ['that upstream failed', new UpstreamTimeoutError(1), 'failed'],
    ['that broke', new Error('broken'), 'failed'],
    ['that was too much for upstream', new UpstreamStatusError(429, '', undefined), 'later'],
    ['that may not wait any longer', new BudgetExhaustedError(1), 'back'],
  ];
  it.each(cases)('%s ends so', async (_, error, how) => {
    contacts.due.length = 1;
    start();
    await quiet();
    contacts.end_('c_0', error);
    await quiet();
    expect(contacts.ended.get('c_0')).toBe(how);
  });

  it('whose lease another worker has waits for no more requests', async () => {
    contacts.due.length = 2;
    start();
    await quiet();
    contacts.lost.add('c_0');
    await eventually('it has ended', () => contacts.ended.get('c_0') === 'back');
    expect(contacts.reads.get('c_1')?.signal.aborted).toBe(false);
  });
});

describe('a worker that is told to stop', () => {
  it('claims nothing more, and what it reads ends or goes back', async () => {
    contacts.tokens = 2;
    start();
    await quiet();
    poller.stop();
    contacts.tokens = 10;
    poller.look(A);
    await poller.ended();
    expect(contacts.begun).toHaveLength(2);
    expect([...contacts.ended.values()]).toEqual(['back', 'back']);
  });
});
