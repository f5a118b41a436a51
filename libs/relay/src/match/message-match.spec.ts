import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { UpstreamMessage } from '#upstream';
import { matchMessages } from './message-match.js';
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

/** `message=send` of each match. */
function match(messages: UpstreamMessage[], waiting: SendRecord[], ahead = 0): string[] {
  const { matches } = matchMessages(messages, waiting, ahead);
  return matches.map((one) => `${one.message.id}=${one.record.order.id}`);
}

/** The sends of which nobody can say which message they are. */
function undecided(messages: UpstreamMessage[], waiting: SendRecord[]): string[] {
  return matchMessages(messages, waiting, 0).undecided.map(({ order }) => order.id);
}

/** A message stamped so many seconds after the first POST began. */
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

describe('a message is taken for a send', () => {
  it('of the same text, once, and for no other', () => {
    expect(match([message('m1', 'Hi'), message('m2', 'Ho')], [send('s1', 'Ho'), send('s2', 'Hi')])).toEqual([
      'm1=s2',
      'm2=s1',
    ]);
    expect(match([message('m1', 'Hi')], [send('s1', 'hi'), send('s2', 'Hi!')])).toEqual([]);
    expect(match([message('m1', 'Hi'), message('m2', 'Hi')], [send('s1', 'Hi')])).toEqual(['m1=s1']);
    expect(match([], [send('s1', 'Hi')])).toEqual([]);
    expect(match([message('m1', 'Hi')], [])).toEqual([]);
  });

  it('the oldest for the first begun, where texts are alike', () => {
    expect(match([message('m1', 'Hi'), message('m2', 'Hi')], [send('s1', 'Hi'), send('s2', 'Hi')])).toEqual([
      'm1=s1',
      'm2=s2',
    ]);
  });

  it('only of its time: an identical text in the history is another one', () => {
    const old = message('old', 'Hi', { timestamp: BEGUN - 3_600_000 });
    expect(match([old], [send('s1', 'Hi')])).toEqual([]);
    expect(match([old, message('new', 'Hi')], [send('s1', 'Hi')])).toEqual(['new=s1']);
    expect(match([message('m', 'Hi', { timestamp: BEGUN - 10_000 })], [send('s1', 'Hi')])).toEqual(['m=s1']);
    expect(match([message('m', 'Hi', { timestamp: BEGUN - 10_001 })], [send('s1', 'Hi')])).toEqual([]);
  });

  it('however late it shows up', () => {
    expect(match([message('m', 'Hi', { timestamp: BEGUN + 86_400_000 })], [send('s1', 'Hi')])).toEqual([
      'm=s1',
    ]);
  });

  it('whose send began before it: the second of two alike does not take a message of before its own POST', () => {
    const later = send('s2', 'Hi', {}, { begunAt: BEGUN + 60_000 });
    expect(match([message('m1', 'Hi')], [later])).toEqual([]);
    expect(
      match(
        [message('m1', 'Hi'), message('m2', 'Hi', { timestamp: BEGUN + 61_000 })],
        [send('s1', 'Hi'), later],
      ),
    ).toEqual(['m1=s1', 'm2=s2']);
  });

  it.each([600_000, -600_000])('by a clock of upstream that is %d ms off', (ahead) => {
    const mine = message('m', 'Hi', { timestamp: BEGUN + ahead + 500 });
    expect(match([mine], [send('s1', 'Hi')], ahead)).toEqual(['m=s1']);
    const old = message('old', 'Hi', { timestamp: BEGUN + ahead - 60_000 });
    expect(match([old], [send('s1', 'Hi')], ahead)).toEqual([]);
  });

  it('also without a timestamp', () => {
    const { timestamp, ...undated } = message('m', 'Hi');
    expect(timestamp).toBeDefined();
    expect(match([undated], [send('s1', 'Hi')])).toEqual(['m=s1']);
  });

  it('of the same kind: a text has no attachments, a mere file has no text', () => {
    const file = message('f', '', { attachments: 1 });
    expect(match([file], [send('s1', 'Hi')])).toEqual([]);
    expect(match([message('m', 'Hi', { attachments: 1 })], [send('s1', 'Hi')])).toEqual([]);
    expect(match([file], [send('s1', undefined, { file: FILE })])).toEqual(['f=s1']);
    expect(match([file], [send('s1', '', { fileUrl: 'https://x/y' })])).toEqual(['f=s1']);
    expect(match([message('m', '')], [send('s1', undefined, { file: FILE })])).toEqual([]);
    expect(match([message('m', 'Hi', { attachments: 1 })], [send('s1', 'Hi', { file: FILE })])).toEqual([
      'm=s1',
    ]);
  });

  it('by its text, where text and file are shown as two', () => {
    const [text, file] = [message('t', 'Hi'), message('f', '', { attachments: 1 })];
    expect(match([text, file], [send('s1', 'Hi', { file: FILE })])).toEqual(['t=s1']);
    expect(match([file, text], [send('s1', 'Hi', { file: FILE })])).toEqual(['t=s1']);
  });

  it('with its quotes and dashes rewritten on the way', () => {
    const typed = `"Don't" -- he said - 'no'...`;
    const shown = '“Don’t” — he said – ‘no’…';
    expect(match([message('m', shown)], [send('s1', typed)])).toEqual(['m=s1']);
  });

  it('at most one each, whatever there is', () => {
    const texts = fc.constantFrom('a', 'b', 'c');
    fc.assert(
      fc.property(fc.array(texts), fc.array(texts), (shown, asked) => {
        const { matches } = matchMessages(
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

describe('of several alike messages', () => {
  it.each<[string, SendRecord[], UpstreamMessage[], string[], string[]]>([
    [
      'as many as sends are theirs, in order, although nobody knows that upstream took the sends',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) }), send('s2', 'Hi', {}, { ...UNKNOWN, ...since(1) })],
      [at('m1', 1), at('m2', 2)],
      ['m1=s1', 'm2=s2'],
      [],
    ],
    [
      'the oldest is a send that upstream took',
      [send('s1', 'Hi', {}, since(0))],
      [at('m1', 1), at('m2', 9)],
      ['m1=s1'],
      [],
    ],
    [
      'the oldest is a send that is being posted',
      [send('s1', 'Hi', {}, { ...POSTING, ...since(0) })],
      [at('m1', 1), at('m2', 9)],
      ['m1=s1'],
      [],
    ],
    [
      'none is a send that upstream may not have taken',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', 1), at('m2', 9)],
      [],
      ['s1'],
    ],
    [
      'none is one whose time is over, either',
      [send('s1', 'Hi', {}, { ...UNKNOWN, ...since(0) })],
      [at('m1', 60), at('m2', 90)],
      [],
      ['s1'],
    ],
    [
      'without a time none can be told',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [undated('m1'), undated('m2')],
      [],
      ['s1'],
    ],
    [
      'one of before the POST gives way',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', -6), at('m2', 1)],
      ['m2=s1'],
      [],
    ],
    [
      'one of long after gives way',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', 1), at('m2', 40)],
      ['m1=s1'],
      [],
    ],
    [
      'one alone is taken although it is of long after',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', 30)],
      ['m1=s1'],
      [],
    ],
    [
      'a surplus of one send is none of a later one',
      [send('s1', 'Hi', {}, since(0)), send('s2', 'Hi', {}, { ...LOOKING, ...since(60) })],
      [at('m1', 1), at('m2', 2), at('m3', 61)],
      ['m1=s1', 'm3=s2'],
      [],
    ],
    [
      'the sure send has its own, and the other one of two is open',
      [send('s1', 'Hi', {}, since(0)), send('s2', 'Hi', {}, { ...LOOKING, ...since(1) })],
      [at('m1', 1), at('m2', 2), at('m3', 3)],
      ['m1=s1'],
      ['s2'],
    ],
    [
      'a send that was posted twice may be two',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(20), firstBegunAt: BEGUN, copies: 2 })],
      [at('m1', 1), at('m2', 21)],
      ['m1=s1'],
      [],
    ],
    [
      'different ones are no rivals',
      [send('s1', 'Hi', {}, { ...LOOKING, ...since(0) })],
      [at('m1', 1), at('m2', 2, { body: 'Ho' })],
      ['m1=s1'],
      [],
    ],
  ])('%s', (_, waiting, shown, matches, open) => {
    expect(match(shown, waiting)).toEqual(matches);
    expect(undecided(shown, waiting)).toEqual(open);
  });
});

describe('of several sends of one text, a message is', () => {
  it.each<[string, SendRecord[], UpstreamMessage[], string[]]>([
    [
      'the first begun',
      [send('s1', 'Hi', {}, since(0)), send('s2', 'Hi', {}, since(5))],
      [at('m', 30)],
      ['m=s1'],
    ],
    [
      'the first begun, whatever order they come in',
      [send('s2', 'Hi', {}, since(5)), send('s1', 'Hi', {}, since(0))],
      [at('m', 30)],
      ['m=s1'],
    ],
    [
      'rather one that is expected than one that never showed up',
      [send('s1', 'Hi', {}, { ...OVERDUE, ...since(-300) }), send('s2', 'Hi', {}, since(0))],
      [at('m', 1)],
      ['m=s2'],
    ],
    [
      'rather one that is expected than an unknown one',
      [send('s1', 'Hi', {}, { ...UNKNOWN, ...since(-300) }), send('s2', 'Hi', {}, since(0))],
      [at('m', 1)],
      ['m=s2'],
    ],
    [
      'of those whose time is over the last begun: one lost text must not shift all later ones',
      [
        send('s1', 'Hi', {}, { ...OVERDUE, ...since(-86_400) }),
        send('s2', 'Hi', {}, { ...OVERDUE, ...since(0) }),
      ],
      [at('m', 200)],
      ['m=s2'],
    ],
    [
      'one whose time is over, if it is too old for the other',
      [send('s1', 'Hi', {}, { ...UNKNOWN, ...since(-300) }), send('s2', 'Hi', {}, since(0))],
      [at('m', -290)],
      ['m=s1'],
    ],
    [
      'rather the first one of a send than the second one of another',
      [
        send('s1', 'Hi', {}, { ...since(-30), status: 'sent', copies: 2, contactId: 'c', messageId: 'x' }),
        send('s2', 'Hi', {}, since(0)),
      ],
      [at('m', 1)],
      ['m=s2'],
    ],
    [
      'each its own where there are enough, in order, also of those whose time is over',
      [send('s1', 'Hi', {}, { ...UNKNOWN, ...since(-300) }), send('s2', 'Hi', {}, since(0))],
      [at('m1', 1), at('m2', 2)],
      ['m1=s1', 'm2=s2'],
    ],
  ])('%s', (_, waiting, shown, matches) => {
    expect(match(shown, waiting)).toEqual(matches);
  });
});

describe('by the number of attachments', () => {
  const both = { file: FILE, fileUrl: 'https://x/y' };
  it.each<[string, SendRecord[], UpstreamMessage[], string[]]>([
    [
      'a send with two is a message with two',
      [send('s', 'Hi', both)],
      [at('m1', 1, { attachments: 3 }), at('m2', 2, { attachments: 2 })],
      ['m2=s'],
    ],
    [
      'a message with more is another one',
      [send('s', 'Hi', { file: FILE })],
      [at('m', 1, { attachments: 2 })],
      [],
    ],
    [
      'the whole one comes before a part',
      [send('s', 'Hi', { file: FILE })],
      [at('m1', 1), at('m2', 2, { attachments: 1 })],
      ['m2=s'],
    ],
    [
      'an attachment that is late does not keep its text from being found',
      [send('s', 'Hi', both)],
      [at('m', 1, { attachments: 1 })],
      ['m=s'],
    ],
    [
      'a send without a file does not take the message of one that has it',
      [send('s1', 'Hi', { file: FILE }), send('s2', 'Hi')],
      [at('m1', 1), at('m2', 2, { attachments: 1 })],
      ['m1=s2', 'm2=s1'],
    ],
    [
      'a file alone is not the send that has a text besides',
      [send('s1', 'Hi', { file: FILE }), send('s2', undefined, { file: FILE })],
      [at('t', 1), at('f', 1, { body: '', attachments: 1 })],
      ['t=s1', 'f=s2'],
    ],
    [
      'two files alone may come one by one',
      [send('s', undefined, both)],
      [at('m', 1, { body: '', attachments: 1 })],
      ['m=s'],
    ],
    ['a text of blanks alone is an empty message', [send('s', ' ')], [at('m', 1, { body: '' })], ['m=s']],
    [
      'what stands for an attachment in the text does not matter',
      [send('s', 'Hi', { file: FILE })],
      [at('m', 1, { body: '\uFFFCHi', attachments: 1 })],
      ['m=s'],
    ],
    [
      'emoji alone are told apart',
      [send('s1', '\u{1F44D}'), send('s2', '\u{1F44D}\u{1F3FD}')],
      [at('m1', 1, { body: '\u{1F44D}\u{1F3FD}' }), at('m2', 2, { body: '\u{1F44D}' })],
      ['m1=s2', 'm2=s1'],
    ],
  ])('%s', (_, waiting, shown, matches) => {
    expect(match(shown, waiting)).toEqual(matches);
  });
});
