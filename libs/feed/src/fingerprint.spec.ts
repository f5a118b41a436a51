import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseMessage, type UpstreamMessage } from '#upstream';
import { canonicalJson, changedFields, fingerprintOf } from './fingerprint.js';

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
    expect(before.whole).not.toBe(after.whole);
    expect(changedFields(before, after)).toEqual(fields);
  });
});

describe('canonical JSON', () => {
  it('says everything: the value reads back from it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
    );
  });

  it('tells what is absent from null, and from its own word for it', () => {
    expect(canonicalJson(undefined)).not.toBe(canonicalJson(null));
    expect(canonicalJson('absent')).not.toBe(canonicalJson(undefined));
  });
});
