import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { UpstreamMessage } from '#upstream';
import { levelText, matchMessages } from './message-match.js';
import type { SendOrder, SendRecord, SendState } from './send-record.js';

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
  return matchMessages(messages, waiting, ahead).map((one) => `${one.message.id}=${one.record.order.id}`);
}

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
        const matches = matchMessages(
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

describe('a levelled text', () => {
  it.each([
    ['composed forms', 'Cafe\u0301', 'Caf\u00e9'],
    ['line ends', 'a\r\nb\rc', 'a\nb\nc'],
    ['outer blanks', ' \n a b\t\u00a0', 'a b'],
    ['hard blanks', 'a\u00a0b', 'a b'],
    ['double hyphens', 'a -- b', 'a \u2014 b'],
    ['single quotes', '\u2018a\u2019 \u201Ab\u201B', "'a' 'b'"],
    ['double quotes', '\u201Ca\u201D \u201Eb\u201F', '"a" "b"'],
    ['ellipses', 'a\u2026', 'a...'],
  ])('does not depend on %s', (_, one, other) => {
    expect(levelText(one)).toBe(levelText(other));
  });

  it.each([
    ['\u{1F44D}', '\u{1F44E}'],
    ['\u{1F44D}', '\u{1F44D}\u{1F3FD}'],
    ['\u{1F468}\u200D\u{1F469}\u200D\u{1F467}', '\u{1F468}\u{1F469}\u{1F467}'],
    ['\u2764', '\u2764\uFE0F'],
    ['\u{1F44D}', ''],
    ['שלום', 'םולש'],
    ['a b', 'ab'],
    ['a  b', 'a b'],
    ['a', 'A'],
    ['e', 'é'],
    ['10', '１０'],
    ['a\nb', 'a b'],
    ['\u{1F44D}\u{1F44D}', '\u{1F44D}'],
  ])('keeps %p and %p apart', (one, other) => {
    expect(levelText(one)).not.toBe(levelText(other));
  });
});
