import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { UnidentifiedContactReader } from './unidentified-contact-reader.js';

const NOW = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;

describe('contacts without a known phone number', () => {
  it("are read again after Redis' clock was set back, including contacts that are new in the list", async () => {
    const read: string[] = [];
    let list = { listReadAt: NOW, startedAt: NOW + 1_000, ids: ['old'] };
    const reader = new UnidentifiedContactReader(
      {
        unidentifiedContacts: () =>
          Promise.resolve({ ...list, contacts: list.ids.map((id) => ({ id, isMissing: false })) }),
      },
      {
        pollHead: (_, id) => {
          read.push(id);
          return Promise.resolve(true);
        },
      },
      createLogger('test', 'silent'),
    );
    expect(await reader.areReadSince('a', NOW, NOW)).toBe(true);
    expect(read).toEqual(['old']);
    const back = NOW - HOUR_MS;
    list = { listReadAt: back, startedAt: back + 1_000, ids: ['old', 'new'] };
    expect(await reader.areReadSince('a', back, back)).toBe(true);
    expect(read).toEqual(['old', 'old', 'new']);
  });
});
