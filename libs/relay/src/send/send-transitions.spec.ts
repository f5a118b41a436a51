import { describe, expect, it } from '@jest/globals';
import {
  possiblyAcceptedPostCountAfter,
  type TransitionName,
  SEND_TRANSITION_NAMES,
  findTransitionResult,
  storageLocationOfSend,
} from './send-transitions.js';
import { SEND_STATUSES, type SendStatus } from './send.js';

/** Each status as one letter, in the column order of `TABLE`. */
const LETTERS = 'SQRATDEUFCX';
const letterOf = (status: SendStatus): string => LETTERS.charAt(SEND_STATUSES.indexOf(status));

/** The status after each transition, as a letter in the column of the status before. `.` means invalid. */
const TABLE: Record<TransitionName, string> = {
  //                SQRATDEUFCX
  promoted: /*   */ 'Q..........',
  fenced: /*     */ '.R.........',
  requeued: /*   */ '..Q........',
  accepted: /*      */ '..A........',
  refused: /*    */ '..F........',
  not_taken: /*  */ '..Q........',
  ambiguous: /*  */ '..R........',
  fence_restored: /* */ 'RRR........',
  abandoned: /*  */ '..R........',
  recheck_started: /*    */ '.R.........',
  lookup_begun: /* */ '..R........',
  search_continued: /*     */ '..R........',
  recheck_passed: /*    */ '..Q........',
  marked_unknown: /*   */ '.UU........',
  resent_automatically: /*   */ '..Q........',
  found: /*      */ 'TTTTT..TFCX',
  duplicate_found: /**/ '....TDE.FCX',
  message_delivered: '....D......',
  message_read: /* */ '....EE.....',
  confirmation_rescheduled: /*    */ '...A.......',
  unconfirmed: /**/ '...A.......',
  cancelled: /*  */ 'CC.........',
  expired: /*    */ '.X.........',
  resolved_resend: '.......QQ..',
  resolved_sent: '.......T...',
  resolved_failed: '.......F...',
  dropped_unknown: /*  */ '.......U...',
  dropped_accepted: '...A.......',
  attempt_recorded: /*      */ LETTERS,
};

/** The edges that emit an event: transition, statuses before, event. */
const EVENTS: Partial<Record<TransitionName, [SendStatus[], string]>> = {
  accepted: [['relaying'], 'send.accepted'],
  refused: [['relaying'], 'send.failed'],
  marked_unknown: [['queued', 'relaying'], 'send.unknown'],
  found: [['scheduled', 'queued', 'relaying', 'accepted', 'unknown'], 'send.sent'],
  resolved_sent: [['unknown'], 'send.sent'],
  resolved_failed: [['unknown'], 'send.failed'],
  unconfirmed: [['accepted'], 'send.unconfirmed'],
  cancelled: [['scheduled', 'queued'], 'send.cancelled'],
  expired: [['queued'], 'send.expired'],
  dropped_unknown: [['unknown'], 'send.unknown'],
  dropped_accepted: [['accepted'], 'send.unconfirmed'],
};

const PAIRS = SEND_TRANSITION_NAMES.flatMap((transition) =>
  SEND_STATUSES.map((status): [SendStatus, TransitionName] => [status, transition]),
);

describe('the state machine of a send', () => {
  it('is tested with every combination of status and transition', () => {
    expect(Object.keys(TABLE).sort()).toEqual([...SEND_TRANSITION_NAMES].sort());
    expect(PAIRS).toHaveLength(SEND_STATUSES.length * SEND_TRANSITION_NAMES.length);
  });

  it.each(PAIRS)(
    'yields the expected status and event for a send with the status %s and the transition %s',
    (status, transition) => {
      const step = findTransitionResult(status, transition);
      const expected = TABLE[transition].charAt(SEND_STATUSES.indexOf(status));
      expect(step === undefined ? '.' : letterOf(step.to)).toBe(expected);
      const expectedEvent = EVENTS[transition];
      expect(step?.event).toBe(expectedEvent?.[0].includes(status) === true ? expectedEvent[1] : undefined);
    },
  );

  it('emits an event with every change to accepted, sent, unknown, failed, cancelled or expired', () => {
    for (const [status, transition] of PAIRS) {
      const step = findTransitionResult(status, transition);
      if (step === undefined || step.to === status || storageLocationOfSend(step.to) !== 'archive') continue;
      // The events of the message report its flags.
      if (step.to === 'delivered' || step.to === 'read') continue;
      expect([status, transition, step.event]).toEqual([status, transition, `send.${step.to}`]);
    }
  });

  it('allows a POST only of a queued send, and has only four transitions from relaying back to queued', () => {
    const back = SEND_TRANSITION_NAMES.filter(
      (transition) => findTransitionResult('relaying', transition)?.to === 'queued',
    );
    expect(back).toEqual(['requeued', 'not_taken', 'recheck_passed', 'resent_automatically']);
    expect(SEND_STATUSES.filter((status) => findTransitionResult(status, 'fenced') !== undefined)).toEqual([
      'queued',
    ]);
  });

  it('counts each POST as one possible copy at upstream, and subtracts one if upstream did not accept that POST', () => {
    const changes = SEND_TRANSITION_NAMES.map((transition): [TransitionName, number] => [
      transition,
      possiblyAcceptedPostCountAfter(transition, 5) - 5,
    ]);
    expect(changes.filter(([, change]) => change !== 0)).toEqual([
      ['fenced', 1],
      ['requeued', -1],
      ['refused', -1],
      ['not_taken', -1],
      ['fence_restored', 1],
    ]);
  });
});
