import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseMessage, type UpstreamMessage } from '#upstream';
import {
  differingFields,
  fieldNamesOf,
  FINGERPRINT_FIELDS,
  messageFingerprintOf,
  haveSameMessageContent,
} from './fingerprint.js';

function shown(fields: Record<string, unknown>): UpstreamMessage {
  const message = parseMessage({ id: 'm', ...fields });
  if (message === undefined) throw new Error('unreadable');
  return message;
}

function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]: [string, unknown]) => [key, turned(inner)]),
  );
}

describe('a message fingerprint', () => {
  it('does not depend on the order of object keys at any depth', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
        expect(messageFingerprintOf(shown(turned(fields) as Record<string, unknown>))).toEqual(
          messageFingerprintOf(shown(fields)),
        );
      }),
    );
  });

  it('does not depend on the id or on the flags "read" and "delivered"', () => {
    const one = shown({ message: 'Hi', status: { read: true, delivered: true } });
    const other = parseMessage({ id: 'other', message: 'Hi', status: { read: false } });
    expect(other === undefined ? undefined : messageFingerprintOf(other)).toEqual(messageFingerprintOf(one));
  });

  it.each([
    [{ message: 'a' }, { message: 'b' }, ['message']],
    [{ message: 'Cafe\u0301' }, { message: 'Caf\u00e9' }, ['message']],
    [{ message: null }, {}, ['message']],
    [{ from: 'a', to: 'b' }, { from: 'b', to: 'a' }, ['from', 'to']],
    [{ direction: 'outbound' }, { direction: 'sent' }, ['direction']],
    [{ timestamp: 1 }, { timestamp: 2 }, ['timestamp']],
    [{ attachments: [1, 2] }, { attachments: [2, 1] }, ['attachments']],
    [{ service: 'iMessage' }, { service: 'SMS' }, ['service']],
    [{ type: 'text' }, { type: 'audio' }, ['type']],
    [{ mood: 'a' }, { mood: 'b' }, ['other']],
    [{ status: { read: true, seen: 1 } }, { status: { read: true, seen: 2 } }, ['other']],
    [{ status: 'a' }, { status: 'b' }, ['other']],
  ])('differs between the messages %j and %j, and shows that the fields %j changed', (one, other, fields) => {
    const [before, after] = [messageFingerprintOf(shown(one)), messageFingerprintOf(shown(other))];
    expect(haveSameMessageContent(before, after)).toBe(false);
    expect(fieldNamesOf(differingFields(before, after))).toEqual(fields);
  });
});

describe('message fingerprints', () => {
  it('differ for texts that differ in one character or in a number at the end', () => {
    const text = 'Спасибо, see you at six 😂';
    const texts = [
      ...Array.from({ length: 20_000 }, (_, n) => `${text} ${n}`),
      ...Array.from({ length: text.length }, (_, at) => at).flatMap((at) =>
        ['x', 'é', '好'].map((other) => text.slice(0, at) + other + text.slice(at + 1)),
      ),
    ];
    const prints = texts.map((message) => messageFingerprintOf(shown({ message })));
    const halves = [new Set(prints.map(({ high }) => high)), new Set(prints.map(({ low }) => low))];
    expect(new Set(prints.map(({ high, low }) => `${high} ${low}`)).size).toBe(new Set(texts).size);
    // Among 20,000 random 32-bit values hardly any repeats: each half uses its full range.
    for (const half of halves) expect(half.size).toBeGreaterThan(new Set(texts).size - 5);
  });

  it('contain evenly distributed hashes: 16 bits for each field, 64 bits for the whole message', () => {
    const count = 20_000;
    const prints = Array.from({ length: count }, (_, n) =>
      messageFingerprintOf(shown({ message: `Order ${n}` })),
    );
    const bits = prints.map(({ fields }) => fields[FINGERPRINT_FIELDS.indexOf('message')] ?? 0);
    // 20,000 random 16-bit values give 17,243 different ones on average, with a standard deviation of 42.
    expect(Math.abs(new Set(bits).size - 17_243)).toBeLessThan(250);
    for (let bit = 0; bit < 32; bit += 1) {
      for (const half of ['high', 'low'] as const) {
        const ones = prints.filter((print) => ((print[half] >>> bit) & 1) === 1).length;
        expect(Math.abs(ones - count / 2)).toBeLessThan(count / 25);
      }
    }
  });

  it('differ for long texts that differ in the last character or in the order of two parts', () => {
    const long = 'a'.repeat(4_095) + 'b'.repeat(4_095) + 'c'.repeat(10);
    const others = [
      `${long.slice(0, -1)}d`,
      'b'.repeat(4_095) + 'a'.repeat(4_095) + 'c'.repeat(10),
      `${long}c`,
    ];
    for (const other of others) {
      expect(
        haveSameMessageContent(
          messageFingerprintOf(shown({ message: long })),
          messageFingerprintOf(shown({ message: other })),
        ),
      ).toBe(false);
    }
  });
});
