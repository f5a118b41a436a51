import { describe, expect, it } from '@jest/globals';
import type { AccountReason, Status } from '#client';
import { findingsOf } from './problems.js';

type Code = AccountReason['code'];

const SINCE = '2026-01-01T00:00:00.000Z';

/** The status of an account that works. */
const STATUS: Status = {
  account: 'default',
  installedAt: SINCE,
  readiness: { status: 'ok', reasons: [], details: [], accounts: [] },
  upstream: { state: 'up', since: null, reason: null },
  sends: { counts: {}, lanes: { count: 0, due: 0, deepest: 0 }, oldestQueuedMs: 0 },
  poller: {
    state: 'ok',
    suspectSince: null,
    contacts: 0,
    due: 0,
    lagMs: 0,
    sweepMs: 0,
    listedAt: SINCE,
    listFault: null,
    unreadable: 0,
    skipped: 0,
    unreadableContacts: 0,
    volatileFields: [],
    deep: { waiting: 0, lagMs: 0 },
    detectionDelay: { p50Ms: null, p95Ms: null, count: 0, estimated: 0, late: 0, ofLastSeconds: 3_600 },
    budget: { requestsPerSecond: 5, allowedPerSecond: 5, usedPerSecond: 0, forPollsPerSecond: 5 },
    forecast: [],
    minIntervalMs: null,
    maxIntervalMs: null,
    longestIntervalMs: null,
  },
  conversations: { rows: 0, contacts: 0 },
  deliveries: {
    counts: { pending: 0, succeeded: 0, failed: 0 },
    endpoints: { count: 0, disabled: 0, disabledByFailure: 0, due: 0 },
    failing: [],
    oldestDueMs: 0,
    oldestWaitingMs: 0,
    dispatchLagMs: 0,
  },
};

/** Readiness with one reason. `count` is greater than the number of accounts if the gateway named only some. */
function readinessOf(code: Code, accounts: string[], count = accounts.length): Status['readiness'] {
  return {
    status: 'degraded',
    reasons: [`the reason ${code}`],
    details: [{ code, count, remedy: 'a remedy' }],
    accounts: accounts.map((account) => ({ account, code, since: SINCE, reason: 'a cause' })),
  };
}

/** The texts that the overview shows to a caller with this status. */
function textsOf(status: Status): string[] {
  return findingsOf({ readiness: status.readiness, status, webhooks: undefined }).map(({ text }) => text);
}

describe('the overview of the console', () => {
  it('shows no problem if everything works', () => {
    expect(textsOf(STATUS)).toEqual([]);
  });

  it.each(['upstream_down', 'upstream_refused', 'contacts_vanished'] as const)(
    'shows an operator the reason %s and the names of the other affected accounts',
    (code) => {
      const readiness = readinessOf(code, ['blue', 'default', 'red']);
      expect(textsOf({ ...STATUS, readiness })).toEqual([
        `the reason ${code}. Other accounts affected: blue, red.`,
      ]);
    },
  );

  it("shows a problem of the caller's own account once, with the details of that account", () => {
    const upstream = { state: 'down', since: SINCE, reason: 'ECONNREFUSED' } as const;
    const readiness = readinessOf('upstream_down', ['default']);
    expect(textsOf({ ...STATUS, upstream, readiness })).toEqual([
      'The messaging service is not available: ECONNREFUSED. Sends wait until it is available again.',
    ]);
  });

  it('names at most five other accounts, and counts the rest, including accounts that the gateway does not name', () => {
    const readiness = readinessOf('upstream_down', ['a', 'b', 'c', 'd', 'default', 'e', 'f'], 150);
    expect(textsOf({ ...STATUS, readiness })).toEqual([
      'the reason upstream_down. Other accounts affected: a, b, c, d, e and 144 more.',
    ]);
  });

  it('shows the reason without account names if the gateway names none of the affected accounts', () => {
    expect(textsOf({ ...STATUS, readiness: readinessOf('upstream_down', [], 1) })).toEqual([
      'the reason upstream_down',
    ]);
  });

  it('shows how many elements of the contact list cannot be read', () => {
    const withUnreadable = (unreadableContacts: number): Status => ({
      ...STATUS,
      poller: { ...STATUS.poller, unreadableContacts },
    });
    expect([1, 2].flatMap((count) => textsOf(withUnreadable(count)))).toEqual([
      'One element of the contact list cannot be read. New contacts among them are not polled.',
      '2 elements of the contact list cannot be read. New contacts among them are not polled.',
    ]);
  });

  it('shows a problem of the whole installation without account names', () => {
    expect(textsOf({ ...STATUS, readiness: readinessOf('no_worker', [], 1) })).toEqual([
      'the reason no_worker',
    ]);
  });

  it('shows every reason in the words of the gateway if the API key may not read the account status', () => {
    const readiness = readinessOf('upstream_down', ['default']);
    expect(findingsOf({ readiness, status: undefined, webhooks: undefined })).toEqual([
      { text: 'the reason upstream_down' },
    ]);
  });
});
