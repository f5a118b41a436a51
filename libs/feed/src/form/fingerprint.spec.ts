import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseMessage, type UpstreamMessage } from '#upstream';
import { changedFields, FINGERPRINT_FIELDS, fingerprintOf, isSameForm } from './fingerprint.js';

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

describe('a fingerprint', () => {
  it('does not depend on the order of keys, at any depth', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
        expect(fingerprintOf(shown(turned(fields) as Record<string, unknown>))).toEqual(
          fingerprintOf(shown(fields)),
        );
      }),
    );
  });

  it('does not depend on the two flags, nor on the id', () => {
    const one = shown({ message: 'Hi', status: { read: true, delivered: true } });
    const other = parseMessage({ id: 'other', message: 'Hi', status: { read: false } });
    expect(other === undefined ? undefined : fingerprintOf(other)).toEqual(fingerprintOf(one));
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
  ])('of %j and %j differs in %j', (one, other, fields) => {
    const [before, after] = [fingerprintOf(shown(one)), fingerprintOf(shown(other))];
    expect(isSameForm(before, after)).toBe(false);
    expect(changedFields(before, after)).toEqual(fields);
  });
});

describe('the fingerprints of many messages', () => {
  it('are all different where the texts differ in one character or the number at their end', () => {
    const text = 'Спасибо, see you at six 😂';
    const texts = [
      ...Array.from({ length: 20_000 }, (_, n) => `${text} ${n}`),
      ...Array.from({ length: text.length }, (_, at) => at).flatMap((at) =>
        ['x', 'é', '好'].map((other) => text.slice(0, at) + other + text.slice(at + 1)),
      ),
    ];
    const prints = texts.map((message) => fingerprintOf(shown({ message })));
    const halves = [new Set(prints.map(({ high }) => high)), new Set(prints.map(({ low }) => low))];
    expect(new Set(prints.map(({ high, low }) => `${high} ${low}`)).size).toBe(new Set(texts).size);
    // Of 20,000 draws of 32 bits hardly one is drawn twice: each half is worth its bits.
    for (const half of halves) expect(half.size).toBeGreaterThan(new Set(texts).size - 5);
  });

  it('spread evenly over the few bits of a field, and over each bit of the whole', () => {
    const count = 20_000;
    const prints = Array.from({ length: count }, (_, n) => fingerprintOf(shown({ message: `Order ${n}` })));
    const bits = prints.map(({ fields }) => fields[FINGERPRINT_FIELDS.indexOf('message')] ?? 0);
    // 65,536 places, of which so many draws at random meet 17,243 on average, give or take 42.
    expect(Math.abs(new Set(bits).size - 17_243)).toBeLessThan(250);
    for (let bit = 0; bit < 32; bit += 1) {
      for (const half of ['high', 'low'] as const) {
        const ones = prints.filter((print) => ((print[half] >>> bit) & 1) === 1).length;
        expect(Math.abs(ones - count / 2)).toBeLessThan(count / 25);
      }
    }
  });

  it('tell long texts by their last character, and where two parts of them changed places', () => {
    const long = 'a'.repeat(4_095) + 'b'.repeat(4_095) + 'c'.repeat(10);
    const others = [
      `${long.slice(0, -1)}d`,
      'b'.repeat(4_095) + 'a'.repeat(4_095) + 'c'.repeat(10),
      `${long}c`,
    ];
    for (const other of others) {
      expect(
        isSameForm(fingerprintOf(shown({ message: long })), fingerprintOf(shown({ message: other }))),
      ).toBe(false);
    }
  });
});
