import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  diffContactFields,
  contactFingerprintOf,
  contactFingerprintIncludingUrlSignatures,
} from './contact-fingerprint.js';
import {
  VolatileContactFieldTracker,
  NO_VOLATILE_CONTACT_FIELDS,
  parseVolatileContactFields,
  serializeVolatileContactFields,
} from './volatile-contact-fields.js';

type Fields = Record<string, unknown>;

/** Returns the verdict on a known contact, as the poll of the list determines it. */
function verdictOf(
  tracker: VolatileContactFieldTracker,
  contact: { id: string; raw: Fields },
  stored: string,
  changes: () => string[],
): string {
  const quick = tracker.quickVerdict(contact, stored);
  return quick === 'differs' ? tracker.verdict(contact, changes()) : quick;
}

/** Stores the contacts of an account between reads of the list. */
class Account {
  private readonly stored = new Map<string, { fingerprint: string; raw: string }>();
  private volatility = NO_VOLATILE_CONTACT_FIELDS;
  readonly changedMutes: string[] = [];
  events = 0;

  /** Reads a list. Returns the changed fields of each contact whose change is emitted, by contact id. */
  list(contacts: readonly Fields[]): Record<string, string[]> {
    const tracker = new VolatileContactFieldTracker(this.volatility);
    const emitted: Record<string, string[]> = {};
    for (const raw of contacts) {
      const id = String(raw['id']);
      const contact = { id, raw };
      const before = this.stored.get(id);
      const changes = (): Fields => diffContactFields(before?.raw, contact);
      const verdict =
        before === undefined
          ? 'changed'
          : verdictOf(tracker, contact, before.fingerprint, () => Object.keys(changes()));
      if (verdict === 'same' || verdict === 'withheld') continue;
      if (verdict === 'changed' && before !== undefined)
        emitted[id] = Object.keys(tracker.withoutMuted(changes()));
      const shown = verdict === 'changed' || before === undefined ? JSON.stringify(raw) : before.raw;
      this.stored.set(id, { fingerprint: tracker.fingerprintOf(contact), raw: shown });
    }
    const { volatility, newlyMuted, newlyUnmuted } = tracker.conclude();
    this.volatility = parseVolatileContactFields(serializeVolatileContactFields(volatility));
    expect(this.volatility).toEqual(volatility);
    this.changedMutes.push(
      ...newlyMuted.map((name) => `muted ${name}`),
      ...newlyUnmuted.map((name) => `unmuted ${name}`),
    );
    this.events += Object.keys(emitted).length;
    return emitted;
  }
}

const contacts = (count: number, fields: (i: number) => Fields): Fields[] =>
  Array.from({ length: count }, (_, i) => ({ id: `c${i}`, name: `Name ${i}`, ...fields(i) }));
const avatar = (n: number): Fields => ({ avatarUrl: `https://a.example/${n}.png` });

describe('a contact field', () => {
  it('that differs for all contacts at every read causes two events per contact, and then none until the field stops changing', () => {
    const account = new Account();
    for (let n = 0; n < 20; n += 1) account.list(contacts(30, () => avatar(n)));
    expect(account.changedMutes).toEqual(['muted avatarUrl']);
    expect(account.events).toBe(60);
    const one = (n: number): Fields[] =>
      contacts(30, (i) => ({ ...avatar(n), ...(i === 7 ? { mood: 'good' } : {}) }));
    expect(account.list(one(21))).toEqual({ c7: ['mood'] });
    for (let n = 0; n < 7; n += 1) expect(account.list(one(22))).toEqual({});
    expect(account.changedMutes).toEqual(['muted avatarUrl', 'unmuted avatarUrl']);
    const other = one(22).map((raw, i) => (i === 3 ? { ...raw, ...avatar(23) } : raw));
    expect(account.list(other)).toEqual({ c3: ['avatarUrl'] });
  });

  it('that differs at each read for at most half of the contacts causes an event for every change', () => {
    const busy = fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 19 }), { maxLength: 10 }), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(busy, (lists) => {
        const account = new Account();
        const unread = Array.from({ length: 20 }, () => 0);
        const shown = (): Fields[] => contacts(20, (i) => ({ unread: unread[i] }));
        account.list(shown());
        for (const moved of lists) {
          for (const i of moved) unread[i] = (unread[i] ?? 0) + 1;
          const expected = Object.fromEntries(moved.map((i) => [`c${i}`, ['unread']]));
          expect(account.list(shown())).toEqual(expected);
        }
      }),
    );
  });

  it('causes an event at each of nine consecutive changes if the account has only one contact', () => {
    const account = new Account();
    for (let n = 0; n < 10; n += 1) account.list(contacts(1, () => ({ lastMessageAt: n })));
    expect(account.events).toBe(9);
    expect(account.changedMutes).toEqual([]);
  });
});

describe('the fingerprint of a contact', () => {
  const shown = (avatarUrl: string): { raw: Fields } => ({ raw: { id: 'c', name: 'Ada', avatarUrl } });
  const bare = 'https://x.example/a.png?v=2';
  const signed = `${bare}&Expires=1&Signature=a`;

  it('equals the fingerprint of older builds if no URL is signed, and does not depend on URL signatures', () => {
    expect(contactFingerprintOf(shown(bare))).toBe('d2268692bbb1388a');
    expect(contactFingerprintOf(shown(signed))).toBe('d2268692bbb1388a');
    expect(contactFingerprintIncludingUrlSignatures(shown(signed))).toBe('acfc7a4bbbfd87d2');
  });

  it('that an older build stored still matches the contact, even if the signature of a URL has changed', () => {
    const stored = contactFingerprintIncludingUrlSignatures(shown(signed));
    const verdictOn = (avatarUrl: string): string => {
      const contact = { id: 'c', ...shown(avatarUrl) };
      const changes = diffContactFields(JSON.stringify(shown(signed).raw), contact);
      const tracker = new VolatileContactFieldTracker(NO_VOLATILE_CONTACT_FIELDS);
      return verdictOf(tracker, contact, stored, () => Object.keys(changes));
    };
    expect(verdictOn(signed)).toBe('same');
    expect(verdictOn(`${bare}&Expires=2&Signature=b`)).toBe('quiet');
    expect(verdictOn('https://x.example/b.png')).toBe('changed');
  });
});

describe('the stored list of contact fields that change at every read', () => {
  it.each([
    '',
    'x',
    '{}',
    '{"v":2,"fields":{}}',
    '{"v":1,"fields":{"a":[0]}}',
    '{"v":1,"fields":{"a":"b"}}',
    null,
  ])('counts as empty if it is damaged or has a later version: %p', (text) => {
    expect(parseVolatileContactFields(text)).toEqual(NO_VOLATILE_CONTACT_FIELDS);
  });

  it('contains at most 20 fields, even if more fields change', () => {
    const tracker = new VolatileContactFieldTracker(NO_VOLATILE_CONTACT_FIELDS);
    const raw = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`field ${i}`, i]));
    const changed = Object.keys(raw);
    for (let i = 0; i < 20; i += 1) {
      tracker.verdict({ id: `c${i}`, raw }, changed);
    }
    expect(tracker.conclude().volatility.fields.size).toBe(20);
  });
});
