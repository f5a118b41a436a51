import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { UpstreamMessage } from '#upstream';
import { matchMessagesToSends } from './message-match.js';
import type { SendOrder, SendRecord, SendState } from '../send/send-record.js';

const BEGUN = Date.UTC(2026, 0, 1);

function message(id: string, body: string, other: Partial<UpstreamMessage> = {}): UpstreamMessage {
  const base = { id, direction: 'outbound', body, timestamp: BEGUN + 1_000, attachments: 0 } as const;
  return { ...base, delivered: false, read: false, raw: { id }, ...other };
}

function send(
  id: string,
  text: string | undefined,
  order: Partial<SendOrder> = {},
  state: Partial<SendState> = {},
): SendRecord {
  return {
    order: {
      id,
      createdAt: BEGUN,
      phoneNumber: '+15551234567',
      type: 'text',
      ...(text === undefined ? {} : { message: text }),
      ...order,
    },
    state: {
      status: 'accepted',
      revision: 1,
      updatedAt: 0,
      attempts: [],
      refusals: 0,
      begunAt: BEGUN,
      ...state,
    },
  };
}

const FILE = { blobId: 'b', name: 'a.png', contentType: 'image/png', size: 1, sha256: '0' };

/** Returns each match as `message=send`. */
function match(messages: UpstreamMessage[], waiting: SendRecord[], ahead = 0): string[] {
  const { matches } = matchMessagesToSends(messages, waiting, ahead);
  return matches.map((one) => `${one.message.id}=${one.record.order.id}`);
}

/** Returns the ids of the undecided sends. */
function undecided(messages: UpstreamMessage[], waiting: SendRecord[]): string[] {
  return matchMessagesToSends(messages, waiting, 0).undecided.map(({ record }) => record.order.id);
}

/** Returns a message whose timestamp is this many seconds after the first POST. */
const at = (id: string, seconds: number, other: Partial<UpstreamMessage> = {}): UpstreamMessage =>
  message(id, 'Hi', { timestamp: BEGUN + seconds * 1_000, ...other });
function undated(id: string): UpstreamMessage {
  const one = message(id, 'Hi');
  delete one.timestamp;
  return one;
}
const since = (seconds: number): Partial<SendState> => ({ begunAt: BEGUN + seconds * 1_000, copies: 1 });
const LOOKING = { status: 'relaying', phase: 'looking' } as const;
const POSTING = { status: 'relaying', phase: 'posting' } as const;
const OVERDUE = { status: 'accepted', lookLeftMs: 0 } as const;
const UNKNOWN = { status: 'unknown' } as const;

describe('a message matches a send', () => {
  it('only if their texts are equal, and each message matches at most one send', () => {
    expect(match([message('m1', 'Hi'), message('m2', 'Ho')], [send('s1', 'Ho'), send('s2', 'Hi')])).toEqual([
      'm1=s2',
      'm2=s1',
    ]);
    expect(match([message('m1', 'Hi')], [send('s1', 'hi'), send('s2', 'Hi!')])).toEqual([]);
    expect(match([message('m1', 'Hi'), message('m2', 'Hi')], [send('s1', 'Hi')])).toEqual(['m1=s1']);
    expect(match([], [send('s1', 'Hi')])).toEqual([]);
    expect(match([message('m1', 'Hi')], [])).toEqual([]);
  });

  it('in order if several messages and sends have equal text: the oldest message matches the send that was posted first', () => {
    expect(match([message('m1', 'Hi'), message('m2', 'Hi')], [send('s1', 'Hi'), send('s2', 'Hi')])).toEqual([
      'm1=s1',
      'm2=s2',
    ]);
  });

  it('only if the timestamp of the message is not more than 10 seconds before the POST of the send', () => {
    const old = message('old', 'Hi', { timestamp: BEGUN - 3_600_000 });
    expect(match([old], [send('s1', 'Hi')])).toEqual([]);
    expect(match([old, message('new', 'Hi')], [send('s1', 'Hi')])).toEqual(['new=s1']);
    expect(match([message('m', 'Hi', { timestamp: BEGUN - 10_000 })], [send('s1', 'Hi')])).toEqual(['m=s1']);
    expect(match([message('m', 'Hi', { timestamp: BEGUN - 10_001 })], [send('s1', 'Hi')])).toEqual([]);
  });

  it('even if the timestamp of the message is a day after the POST of the send', () => {
    expect(match([message('m', 'Hi', { timestamp: BEGUN + 86_400_000 })], [send('s1', 'Hi')])).toEqual([
      'm=s1',
    ]);
  });

  it('that was posted before the message, but never a send with the same text that was posted long after the message', () => {
    const later = send('s2', 'Hi', {}, { begunAt: BEGUN + 60_000 });
    expect(match([message('m1', 'Hi')], [later])).toEqual([]);
    expect(
      match(
        [message('m1', 'Hi'), message('m2', 'Hi', { timestamp: BEGUN + 61_000 })],
        [send('s1', 'Hi'), later],
      ),
    ).toEqual(['m1=s1', 'm2=s2']);
  });

  it('with a recorded POST rather than a send without one; if no POST is recorded, the message matches the first send of the lane', () => {
    const unposted = (id: string, createdAt: number): SendRecord => {
      const { begunAt, ...state } = send(id, 'Hi', {}, { status: 'queued' }).state;
      expect(begunAt).toBeDefined();
      return { ...send(id, 'Hi', { createdAt: BEGUN + createdAt }), state };
    };
    const posted = send('s1', 'Hi', { createdAt: BEGUN - 2_000 }, since(0));
    const others = [unposted('s2', -1_000), unposted('s3', -500)];
    expect(match([at('m', 1)], [posted, ...others])).toEqual(['m=s1']);
    // Redis lost the record of a POST: that of the first send of the lane.
    expect(match([at('m', 1)], others)).toEqual(['m=s2']);
  });

  it('that was accepted rather than a send with the same text that waits to be resent', () => {
    const resent = send('s1', 'Hi', {}, { status: 'queued', lookFirst: true, ...since(-300) });
    expect(match([at('m', 1)], [resent, send('s2', 'Hi', {}, since(0))])).toEqual(['m=s2']);
    expect(match([at('m', 1)], [resent])).toEqual(['m=s1']);
  });

  it('that is scheduled and has no recorded POST only if the timestamp of the message is at most 10 seconds before the scheduled time', () => {
    const { begunAt, ...state } = send('s1', 'Hi').state;
    expect(begunAt).toBeDefined();
    const order = { createdAt: BEGUN - 86_400_000, sendAt: BEGUN + 60_000 };
    const scheduled = { ...send('s1', 'Hi', order), state: { ...state, status: 'scheduled' as const } };
    expect(match([at('m', 49)], [scheduled])).toEqual([]);
    expect(match([at('m', 61)], [scheduled])).toEqual(['m=s1']);
    expect(match([at('m', 1)], [scheduled, send('s2', 'Hi')])).toEqual(['m=s2']);
  });

  it.each([600_000, -600_000])(
    "even if the clock of upstream differs from the gateway's clock by %d ms",
    (ahead) => {
      const mine = message('m', 'Hi', { timestamp: BEGUN + ahead + 500 });
      expect(match([mine], [send('s1', 'Hi')], ahead)).toEqual(['m=s1']);
      const old = message('old', 'Hi', { timestamp: BEGUN + ahead - 60_000 });
      expect(match([old], [send('s1', 'Hi')], ahead)).toEqual([]);
    },
  );

  it.each([
    ['was posted', {}, { begunUpstreamAheadMs: 0 }],
    ['was stored', { upstreamAheadMs: 0 }, {}],
  ])("even if Redis' clock was set back since the send %s", (_, order, state) => {
    const mine = message('m', 'Hi', { timestamp: BEGUN + 500 });
    expect(match([mine], [send('s1', 'Hi', order, state)], 60_000)).toEqual(['m=s1']);
    const old = message('old', 'Hi', { timestamp: BEGUN - 11_000 });
    expect(match([old], [send('s1', 'Hi', order, state)], 60_000)).toEqual([]);
  });

  it('even if the message has no timestamp', () => {
    const { timestamp, ...undated } = message('m', 'Hi');
    expect(timestamp).toBeDefined();
    expect(match([undated], [send('s1', 'Hi')])).toEqual(['m=s1']);
  });

  it('only if both have the same number of files; exception: a message with the text of a send may lack the file of the send', () => {
    const file = message('f', '', { attachments: 1 });
    expect(match([file], [send('s1', 'Hi')])).toEqual([]);
    expect(match([message('m', 'Hi', { attachments: 1 })], [send('s1', 'Hi')])).toEqual([]);
    expect(match([file], [send('s1', undefined, { file: FILE })])).toEqual(['f=s1']);
    expect(match([file], [send('s1', '', { fileUrl: 'https://x/y' })])).toEqual(['f=s1']);
    expect(match([message('m', '')], [send('s1', undefined, { file: FILE })])).toEqual([]);
    expect(match([message('m', 'Hi', { attachments: 1 })], [send('s1', 'Hi', { file: FILE })])).toEqual([
      'm=s1',
    ]);
    expect(match([message('m', 'Hi')], [send('s1', 'Hi', { file: FILE })])).toEqual(['m=s1']);
    expect(match([file], [send('s1', 'Hi', { file: FILE })])).toEqual([]);
  });

  it('with a text and a file if the message has only the text, and upstream shows the file as a separate message', () => {
    const [text, file] = [message('t', 'Hi'), message('f', '', { attachments: 1 })];
    expect(match([text, file], [send('s1', 'Hi', { file: FILE })])).toEqual(['t=s1']);
    expect(match([file, text], [send('s1', 'Hi', { file: FILE })])).toEqual(['t=s1']);
  });

  it('even if upstream replaced quotes, dashes and dots by typographic characters', () => {
    const typed = `"Don't" -- he said - 'no'...`;
    const shown = '“Don’t” — he said – ‘no’…';
    expect(match([message('m', shown)], [send('s1', typed)])).toEqual(['m=s1']);
  });

  it('only if neither has another match, and as many pairs as possible match (random lists of messages and sends)', () => {
    const texts = fc.constantFrom('a', 'b', 'c');
    fc.assert(
      fc.property(fc.array(texts), fc.array(texts), (shown, asked) => {
        const { matches } = matchMessagesToSends(
          shown.map((text, i) => message(`m${i}`, text)),
          asked.map((text, i) => send(`s${i}`, text)),
          0,
        );
        expect(new Set(matches.map((one) => one.message.id)).size).toBe(matches.length);
        expect(new Set(matches.map((one) => one.record.order.id)).size).toBe(matches.length);
        const count = (list: readonly string[], text: string): number =>
          list.filter((one) => one === text).length;
        const wanted = ['a', 'b', 'c'].map((text) => Math.min(count(shown, text), count(asked, text)));
        expect(matches).toHaveLength(wanted.reduce((sum, n) => sum + n, 0));
      }),
    );
  });
});

describe('the matching of messages and sends with equal text', () => {
  it.each<[string, SendRecord[], UpstreamMessage[], string[], string[]]>([
    [
      'equally many messages and sends match in order, even if upstream may not have accepted the sends',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) }), send('s2', 'Hi', {}, { ...UNKNOWN, ...since(1) })],
      [at('m1', 1), at('m2', 2)],
      ['m1=s1', 'm2=s2'],
      [],
    ],
    [
      'the older of two messages matches a single send that upstream accepted',
      [send('s1', 'Hi', {}, since(0))],
      [at('m1', 1), at('m2', 9)],
      ['m1=s1'],
      [],
    ],
    [
      'the older of two messages matches a single send that is being posted',
      [send('s1', 'Hi', {}, { ...POSTING, ...since(0) })],
      [at('m1', 1), at('m2', 9)],
      ['m1=s1'],
      [],
    ],
    [
      'neither of two messages matches a single send that upstream may not have accepted',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', 1), at('m2', 9)],
      [],
      ['s1'],
    ],
    [
      'neither of two messages matches a single send with the status unknown',
      [send('s1', 'Hi', {}, { ...UNKNOWN, ...since(0) })],
      [at('m1', 60), at('m2', 90)],
      [],
      ['s1'],
    ],
    [
      'neither of two messages without timestamps matches a single send that upstream may not have accepted',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [undated('m1'), undated('m2')],
      [],
      ['s1'],
    ],
    [
      'a message from before the POST is ignored',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', -6), at('m2', 1)],
      ['m2=s1'],
      [],
    ],
    [
      'a second message from long after the POST is ignored',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', 1), at('m2', 40)],
      ['m1=s1'],
      [],
    ],
    [
      'a single message matches even long after the POST',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', 30)],
      ['m1=s1'],
      [],
    ],
    [
      'a second message near one POST does not match a later send',
      [send('s1', 'Hi', {}, since(0)), send('s2', 'Hi', {}, { ...LOOKING, ...since(60) })],
      [at('m1', 1), at('m2', 2), at('m3', 61)],
      ['m1=s1', 'm3=s2'],
      [],
    ],
    [
      'an accepted send matches the oldest message, and a send without an answer stays undecided',
      [send('s1', 'Hi', {}, since(0)), send('s2', 'Hi', {}, { ...LOOKING, ...since(1) })],
      [at('m1', 1), at('m2', 2), at('m3', 3)],
      ['m1=s1'],
      ['s2'],
    ],
    [
      'two messages can belong to one send that was posted twice',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(20), firstBegunAt: BEGUN, copies: 2 })],
      [at('m1', 1), at('m2', 21)],
      ['m1=s1'],
      [],
    ],
    [
      'a message with a different text matches no send',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', 1), at('m2', 2, { body: 'Ho' })],
      ['m1=s1'],
      [],
    ],
  ])('follows the rule: %s', (_, waiting, shown, matches, open) => {
    expect(match(shown, waiting)).toEqual(matches);
    expect(undecided(shown, waiting)).toEqual(open);
  });
});

describe('a send that several messages match equally well', () => {
  it("is not bound to the earlier message if Redis' clock was set ahead since the POST", () => {
    const waiting = [send('s1', 'Hi', {}, { ...LOOKING, ...since(0), begunUpstreamAheadMs: 0 })];
    const { matches, undecided: open } = matchMessagesToSends([at('m1', -50), at('m2', 1)], waiting, -60_000);
    expect([matches.length, open.length]).toEqual([0, 1]);
  });

  it('is returned as undecided, together with the messages that were assigned to no other send and were not sent long after the POST', () => {
    const waiting = [send('s1', 'Hi', {}, since(0)), send('s2', 'Hi', {}, { ...LOOKING, ...since(1) })];
    const shown = [at('m1', 1), at('m2', 2), at('m3', 3), at('m4', 60)];
    const [only, ...more] = matchMessagesToSends(shown, waiting, 0).undecided;
    expect(more).toEqual([]);
    expect(only?.record.order.id).toBe('s2');
    expect(only?.messages.map(({ id }) => id)).toEqual(['m2', 'm3']);
  });
});

describe('a message whose text several sends share', () => {
  it.each<[string, SendRecord[], UpstreamMessage[], string[]]>([
    [
      'the first posted send',
      [send('s1', 'Hi', {}, since(0)), send('s2', 'Hi', {}, since(5))],
      [at('m', 30)],
      ['m=s1'],
    ],
    [
      'the first posted send, in whatever order the sends are passed to the function',
      [send('s2', 'Hi', {}, since(5)), send('s1', 'Hi', {}, since(0))],
      [at('m', 30)],
      ['m=s1'],
    ],
    [
      'a send whose message is expected rather than a send whose message is overdue',
      [send('s1', 'Hi', {}, { ...OVERDUE, ...since(-300) }), send('s2', 'Hi', {}, since(0))],
      [at('m', 1)],
      ['m=s2'],
    ],
    [
      'a send whose message is expected rather than a send with the status unknown',
      [send('s1', 'Hi', {}, { ...UNKNOWN, ...since(-300) }), send('s2', 'Hi', {}, since(0))],
      [at('m', 1)],
      ['m=s2'],
    ],
    [
      'the last posted of several sends whose messages are overdue, so that one lost text does not shift all later matches',
      [
        send('s1', 'Hi', {}, { ...OVERDUE, ...since(-86_400) }),
        send('s2', 'Hi', {}, { ...OVERDUE, ...since(0) }),
      ],
      [at('m', 200)],
      ['m=s2'],
    ],
    [
      'a send with the status unknown if the message is older than the POST of the other send',
      [send('s1', 'Hi', {}, { ...UNKNOWN, ...since(-300) }), send('s2', 'Hi', {}, since(0))],
      [at('m', -290)],
      ['m=s1'],
    ],
    [
      'a send that has no message yet rather than a send that was posted twice and has one message',
      [
        send('s1', 'Hi', {}, { ...since(-30), status: 'sent', copies: 2, contactId: 'c', messageId: 'x' }),
        send('s2', 'Hi', {}, since(0)),
      ],
      [at('m', 1)],
      ['m=s2'],
    ],
    [
      'the sends in order if there are equally many messages and sends, even a send with the status unknown',
      [send('s1', 'Hi', {}, { ...UNKNOWN, ...since(-300) }), send('s2', 'Hi', {}, since(0))],
      [at('m1', 1), at('m2', 2)],
      ['m1=s1', 'm2=s2'],
    ],
  ])('matches %s', (_, waiting, shown, matches) => {
    expect(match(shown, waiting)).toEqual(matches);
  });
});

describe('the matching of messages and sends by attachments and text', () => {
  const both = { file: FILE, fileUrl: 'https://x/y' };
  it.each<[string, SendRecord[], UpstreamMessage[], string[]]>([
    [
      'a send with two files matches a message with two attachments, and no message with three',
      [send('s', 'Hi', both)],
      [at('m1', 1, { attachments: 3 }), at('m2', 2, { attachments: 2 })],
      ['m2=s'],
    ],
    [
      'a message with more attachments than the send has files does not match',
      [send('s', 'Hi', { file: FILE })],
      [at('m', 1, { attachments: 2 })],
      [],
    ],
    [
      'a send with a file matches a message with an attachment rather than an earlier message without one',
      [send('s', 'Hi', { file: FILE })],
      [at('m1', 1), at('m2', 2, { attachments: 1 })],
      ['m2=s'],
    ],
    [
      'a message with the text of a send matches even if one of two attachments is still missing',
      [send('s', 'Hi', both)],
      [at('m', 1, { attachments: 1 })],
      ['m=s'],
    ],
    [
      'a send without a file does not match a message with an attachment',
      [send('s1', 'Hi', { file: FILE }), send('s2', 'Hi')],
      [at('m1', 1), at('m2', 2, { attachments: 1 })],
      ['m1=s2', 'm2=s1'],
    ],
    [
      'a message with an attachment and no text matches a send of only a file rather than a send with a text and a file',
      [send('s1', 'Hi', { file: FILE }), send('s2', undefined, { file: FILE })],
      [at('t', 1), at('f', 1, { body: '', attachments: 1 })],
      ['t=s1', 'f=s2'],
    ],
    [
      'a message with one attachment and no text matches a send with two files and no text',
      [send('s', undefined, both)],
      [at('m', 1, { body: '', attachments: 1 })],
      ['m=s'],
    ],
    [
      'a send whose text is only blanks matches an empty message',
      [send('s', ' ')],
      [at('m', 1, { body: '' })],
      ['m=s'],
    ],
    [
      'the placeholder of an attachment in the text is ignored',
      [send('s', 'Hi', { file: FILE })],
      [at('m', 1, { body: '\uFFFCHi', attachments: 1 })],
      ['m=s'],
    ],
    [
      'texts of different emoji do not match each other',
      [send('s1', '\u{1F44D}'), send('s2', '\u{1F44D}\u{1F3FD}')],
      [at('m1', 1, { body: '\u{1F44D}\u{1F3FD}' }), at('m2', 2, { body: '\u{1F44D}' })],
      ['m1=s2', 'm2=s1'],
    ],
  ])('follows the rule: %s', (_, waiting, shown, matches) => {
    expect(match(shown, waiting)).toEqual(matches);
  });
});
