import { describe, expect, it } from '@jest/globals';
import { appendLookup, type StoredLookup, toPublicLookup } from './stored-lookup.js';

const AT = Date.UTC(2026, 0, 1);

function lookup(at: number, other: Partial<StoredLookup> = {}): StoredLookup {
  return { at, outcome: 'not_found', since: AT, contactIds: ['c'], messagesRead: 3, ...other };
}

describe('the look-ups (searches for the message) of a send', () => {
  it('are limited to 20: the first look-up and the last 19 are kept', () => {
    let lookups: StoredLookup[] = [];
    for (let n = 0; n < 30; n += 1) lookups = appendLookup(lookups, lookup(n));
    expect(lookups.map(({ at }) => at)).toEqual([0, ...Array.from({ length: 19 }, (_, i) => 11 + i)]);
  });

  it('are stored with at most 5 similar messages, 20 contacts and 300 characters of the error', () => {
    const ids = Array.from({ length: 30 }, (_, i) => `id${String(i)}`);
    const candidates = ids.map((messageId) => ({ contactId: 'c', messageId, reason: 'r' }));
    const [stored] = appendLookup([], lookup(0, { contactIds: ids, candidates, error: 'e'.repeat(400) }));
    expect(stored?.contactIds).toEqual(ids.slice(0, 20));
    expect(stored?.candidates).toEqual(candidates.slice(0, 5));
    expect(stored?.error).toHaveLength(300);
  });

  it('are stored without the fields that have no value', () => {
    expect(appendLookup([], lookup(0, { candidates: [] }))).toEqual([lookup(0)]);
  });

  it('are shown in API replies with every field; a timestamp that is not a valid date is shown as null', () => {
    const candidates = [
      { contactId: 'c', messageId: 'm', reason: 'r', sentAt: AT, sendId: 'snd_1' },
      { contactId: 'c', messageId: 'n', reason: 'r', sentAt: 1e300 },
    ];
    expect(toPublicLookup(lookup(AT + 1_000, { candidates }))).toEqual({
      at: '2026-01-01T00:00:01.000Z',
      outcome: 'not_found',
      since: '2026-01-01T00:00:00.000Z',
      contactIds: ['c'],
      messagesRead: 3,
      candidates: [
        { contactId: 'c', messageId: 'm', reason: 'r', sentAt: '2026-01-01T00:00:00.000Z', sendId: 'snd_1' },
        { contactId: 'c', messageId: 'n', reason: 'r', sentAt: null, sendId: null },
      ],
      error: null,
    });
  });
});
