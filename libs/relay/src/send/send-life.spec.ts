import { describe, expect, it } from '@jest/globals';
import { copiesAfter, type Happening, HAPPENINGS, passage, placeOf } from './send-life.js';
import { SEND_STATUSES, type SendStatus } from './send.js';

/** Each status in one letter, in the order of the columns below. */
const LETTERS = 'SQRATDEUFCX';
const letterOf = (status: SendStatus): string => LETTERS.charAt(SEND_STATUSES.indexOf(status));

/** What each happening makes of each status: the column's letter after it, `.` where it is refused. */
const TABLE: Record<Happening, string> = {
  //                SQRATDEUFCX
  promoted: /*   */ 'Q..........',
  fenced: /*     */ '.R.........',
  put_back: /*   */ '..Q........',
  taken: /*      */ '..A........',
  refused: /*    */ '..F........',
  not_taken: /*  */ '..Q........',
  ambiguous: /*  */ '..R........',
  remembered: /* */ '.RR........',
  abandoned: /*  */ '..R........',
  doubted: /*    */ '.R.........',
  looked: /*     */ '..R........',
  cleared: /*    */ '..Q........',
  given_up: /*   */ '.UU........',
  repeated: /*   */ '..Q........',
  found: /*      */ '.TTTT..TFCX',
  found_again: /**/ '....TDE.FCX',
  shown_delivered: '....D......',
  shown_read: /* */ '....EE.....',
  awaited: /*    */ '...A.......',
  unconfirmed: /**/ '...A.......',
  cancelled: /*  */ 'CC.........',
  expired: /*    */ '.X.........',
  resolved_resend: '.......QQ..',
  resolved_sent: '.......T...',
  resolved_failed: '.......F...',
  forgotten: /*  */ '.......U...',
  forgotten_unseen: '...A.......',
  noted: /*      */ LETTERS,
};

/** The events of the passages that tell something: happening, statuses before, event. */
const EVENTS: Partial<Record<Happening, [SendStatus[], string]>> = {
  taken: [['relaying'], 'send.accepted'],
  refused: [['relaying'], 'send.failed'],
  given_up: [['queued', 'relaying'], 'send.unknown'],
  found: [['queued', 'relaying', 'accepted', 'unknown'], 'send.sent'],
  resolved_sent: [['unknown'], 'send.sent'],
  resolved_failed: [['unknown'], 'send.failed'],
  unconfirmed: [['accepted'], 'send.unconfirmed'],
  cancelled: [['scheduled', 'queued'], 'send.cancelled'],
  expired: [['queued'], 'send.expired'],
  forgotten: [['unknown'], 'send.unknown'],
  forgotten_unseen: [['accepted'], 'send.unconfirmed'],
};

const PAIRS = HAPPENINGS.flatMap((happening) =>
  SEND_STATUSES.map((status): [SendStatus, Happening] => [status, happening]),
);

describe('the life of a send', () => {
  it('is decided for every status and every happening', () => {
    expect(Object.keys(TABLE).sort()).toEqual([...HAPPENINGS].sort());
    expect(PAIRS).toHaveLength(SEND_STATUSES.length * HAPPENINGS.length);
  });

  it.each(PAIRS)('%s, %s: goes where the table says, and tells what it says', (status, happening) => {
    const step = passage(status, happening);
    const expected = TABLE[happening].charAt(SEND_STATUSES.indexOf(status));
    expect(step === undefined ? '.' : letterOf(step.to)).toBe(expected);
    const told = EVENTS[happening];
    expect(step?.event).toBe(told?.[0].includes(status) === true ? told[1] : undefined);
  });

  it('tells of every change that a caller waits for: none becomes final, accepted, sent or unknown in silence', () => {
    for (const [status, happening] of PAIRS) {
      const step = passage(status, happening);
      if (step === undefined || step.to === status || placeOf(step.to) !== 'shelf') continue;
      // The flags are told by the message's own events.
      if (step.to === 'delivered' || step.to === 'read') continue;
      expect([status, happening, step.event]).toEqual([status, happening, `send.${step.to}`]);
    }
  });

  it('is posted only from the lane, and out of relaying it never goes back to the lane unless that is safe or asked for', () => {
    const back = HAPPENINGS.filter((happening) => passage('relaying', happening)?.to === 'queued');
    expect(back).toEqual(['put_back', 'not_taken', 'cleared', 'repeated']);
    expect(SEND_STATUSES.filter((status) => passage(status, 'fenced') !== undefined)).toEqual(['queued']);
  });

  it('counts the POSTs that upstream may have taken: one more with each fence, also one that Redis forgot, one less where it surely did not', () => {
    const changes = HAPPENINGS.map((happening): [Happening, number] => [
      happening,
      copiesAfter(happening, 5) - 5,
    ]);
    expect(changes.filter(([, change]) => change !== 0)).toEqual([
      ['fenced', 1],
      ['put_back', -1],
      ['refused', -1],
      ['not_taken', -1],
      ['remembered', 1],
    ]);
  });
});
