import { describe, expect, it } from '@jest/globals';
import type { Conversation } from '#client';
import { newConversation } from './contact-name.js';
import { mergedRows, withLiveRow } from './conversation-rows.js';

const row = (id: string, minute: number, more: Partial<Conversation> = {}): Conversation => ({
  ...newConversation('+15551230001'),
  id,
  contactId: id,
  lastActivityAt: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  revision: minute,
  ...more,
});
const shown = (
  rows: Conversation[],
  live: Conversation[],
  { hasMore = false, isSearch = false } = {},
): string[] =>
  mergedRows({ rows, hasMore, isSearch }, live.reduce(withLiveRow, new Map())).map(
    ({ id, revision }) => `${id} ${revision}`,
  );

describe('the rows of the conversation list', () => {
  it('are sorted again when the stream sends a later revision of a row; an earlier revision is ignored', () => {
    expect(shown([row('a', 5), row('b', 4)], [row('b', 6)])).toEqual(['b 6', 'a 5']);
    expect(shown([row('a', 5), row('b', 4)], [row('b', 3)])).toEqual(['a 5', 'b 4']);
    expect(shown([], [row('a', 5), row('a', 4)])).toEqual(['a 5']);
  });

  it('contain the row of a new contact instead of the row of the phone number of the contact', () => {
    const number = row('+15551230001', 1, { contactId: null });
    expect(shown([number], [row('a', 2, { replaces: '+15551230001' })], { isSearch: true })).toEqual(['a 2']);
  });

  it('do not contain a streamed row that is not in the search results or belongs to a later page', () => {
    expect(shown([row('a', 5)], [row('b', 6)], { isSearch: true })).toEqual(['a 5']);
    expect(shown([row('a', 5)], [row('b', 3)], { hasMore: true })).toEqual(['a 5']);
  });

  it('no longer contain the row of a phone number that has neither a contact nor activity', () => {
    const number = row('+15551230001', 1, { contactId: null });
    expect(shown([number], [{ ...number, lastActivityAt: null, revision: 2 }])).toEqual([]);
  });
});
