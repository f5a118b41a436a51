import { describe, expect, it } from '@jest/globals';
import type { Event, MessageEntry, Send, SendEntry, Timeline } from '#client';
import {
  EMPTY_TIMELINE,
  type Entry,
  keyOf,
  reduceTimeline,
  shownEntries,
  type TimelineAction,
  type TimelineState,
} from './timeline-state.js';

const time = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

const message = (id: string, second: number, sendId?: string): MessageEntry => ({
  kind: 'message',
  at: time(second),
  message: { id, direction: 'inbound', message: id, timestamp: time(second) },
  send: sendId === undefined ? null : { id: sendId, status: 'sent', reference: null },
});

const sendOf = (id: string, second: number, status: Send['status'] = 'queued'): Send => ({
  id,
  status,
  phoneNumber: '+15551230001',
  type: 'text',
  message: id,
  fileUrl: null,
  file: null,
  reference: null,
  metadata: null,
  extraFields: {},
  createdAt: time(second),
  updatedAt: time(second),
  sendAt: null,
  expiresAt: null,
  attempts: [],
  contactId: null,
  messageId: null,
  reason: null,
});

const send = (id: string, second: number): SendEntry => ({
  kind: 'send',
  at: time(second),
  send: sendOf(id, second),
});

const scheduled: SendEntry = { ...send('s', 60), scheduled: true };

const page = (entries: Entry[], askedAt: number, more: Partial<Timeline> = {}): TimelineAction => ({
  type: 'page',
  page: { timeline: entries, next: null, after: '', partial: false, ...more },
  isFirst: true,
  askedAt,
});

const event = (type: string, id: string, second: number, now: number, sendId?: string): TimelineAction => ({
  type: 'event',
  event: {
    type,
    timestamp: time(second),
    contactId: 'c',
    data: { message: message(id, second).message, ...(sendId === undefined ? {} : { sendId }) },
  } as Extract<Event, { type: `message.${string}` }>,
  now,
});

const update = (id: string, status: Send['status'], revision: number, now: number): TimelineAction => ({
  type: 'update',
  update: { id, status, reference: null, revision },
  now,
});

const after = (...actions: TimelineAction[]): TimelineState => actions.reduce(reduceTimeline, EMPTY_TIMELINE);
const keys = (state: TimelineState): string[] => shownEntries(state).map(keyOf);
const statusOf = (state: TimelineState, id: string): string | undefined =>
  shownEntries(state).flatMap((entry) =>
    entry.kind === 'send' && entry.send.id === id ? [entry.send.status] : [],
  )[0];

describe('the timeline in the console', () => {
  it('shows a message without a readable timestamp at the time of its event', () => {
    const arrived = event('message.received', 'a', 3, 10);
    if (arrived.type !== 'event') throw new Error('not an event');
    Object.assign(arrived.event.data.message, { timestamp: 'yesterday' });
    expect(shownEntries(reduceTimeline(EMPTY_TIMELINE, arrived)).map(({ at }) => at)).toEqual([time(3)]);
  });

  it('is shown oldest first', () => {
    expect(keys(after(page([message('b', 2), message('a', 1)], 1)))).toEqual(['message a', 'message b']);
  });

  it('keeps a message that is missing from a page if the event of the message arrived after the page was requested', () => {
    const state = after(event('message.received', 'b', 2, 20), page([message('a', 1)], 10));
    expect(keys(state)).toEqual(['message a', 'message b']);
  });

  it('removes a known message that is missing when the first page is read again', () => {
    const state = after(page([message('b', 2), message('a', 1)], 10), page([message('a', 1)], 20));
    expect(keys(state)).toEqual(['message a']);
  });

  it('does not show a deleted message again if a page requested before the deletion contains the message', () => {
    const state = after(
      page([message('a', 1)], 10),
      event('message.deleted', 'a', 1, 30),
      page([message('a', 1)], 20),
    );
    expect(keys(state)).toEqual([]);
  });

  it('keeps the pages of earlier messages when the page of the newest messages is read again', () => {
    const state = after(
      page([message('d', 4), message('c', 3)], 10, { next: 'x' }),
      {
        type: 'page',
        page: { timeline: [message('a', 1)], next: null, after: '', partial: false },
        isFirst: false,
        askedAt: 20,
      },
      page([message('e', 5), message('d', 4)], 30, { next: 'y' }),
    );
    expect(keys(state)).toEqual(['message a', 'message c', 'message d', 'message e']);
    expect(state.earlier).toBeNull();
  });

  it('shows only the new first page if entries are missing between that page and the known entries', () => {
    const state = after(
      page([message('b', 2), message('a', 1)], 10, { next: 'x' }),
      page([message('z', 9), message('y', 8)], 20, { next: 'later' }),
    );
    expect(keys(state)).toEqual(['message y', 'message z']);
    expect(state.earlier).toBe('later');
  });

  it.each([
    ['a scheduled send, which every first page shows', page([scheduled, message('b', 2)], 10, { next: 'x' })],
    ['an entry that was not known from a page', event('message.received', 'z', 9, 15)],
    ['an entry of a page without messages', page([send('z', 9)], 15, { partial: true })],
  ])(
    'shows only the new first page if entries are missing, even if the page and the known entries share %s',
    (_, known) => {
      const [shared] = known.type === 'page' ? known.page.timeline : [message('z', 9)];
      if (shared === undefined) throw new Error('nothing is shared');
      const state = after(
        page([message('b', 2), message('a', 1)], 5, { next: 'x' }),
        known,
        page([shared, message('y', 8)], 20, { next: 'later' }),
      );
      expect(keys(state)).toEqual(['message y', keyOf(shared)]);
      expect(state.earlier).toBe('later');
    },
  );

  it('offers earlier entries if an empty conversation gets more entries than fit on one page', () => {
    expect(after(page([], 10), page([message('b', 2)], 20, { next: 'x' })).earlier).toBe('x');
  });

  it('replaces a send with its message when the message is known', () => {
    const state = after(page([send('s', 1)], 10), event('message.sent', 'm', 2, 20, 's'));
    expect(keys(state)).toEqual(['message m']);
    expect(keys(reduceTimeline(state, { type: 'send', send: sendOf('s', 1), now: 30 }))).toEqual([
      'message m',
    ]);
  });

  it('applies a status update that arrived before the send itself, and ignores an update with an earlier revision', () => {
    const state = after(
      update('s', 'relaying', 1, 10),
      { type: 'send', send: sendOf('s', 1), now: 20 },
      update('s', 'queued', 0, 30),
    );
    expect(statusOf(state, 's')).toBe('relaying');
  });

  it('shows no cancelled sends', () => {
    expect(keys(after(page([send('s', 1)], 10), update('s', 'cancelled', 2, 20)))).toEqual([]);
  });

  it('keeps the known messages while messages cannot be read from upstream', () => {
    const preview: MessageEntry = { ...message('a', 1), message: { id: 'a', message: 'begin' } };
    const state = after(
      page([message('b', 2), message('a', 1)], 10, { next: 'x' }),
      page([preview], 20, { partial: true }),
    );
    expect(keys(state)).toEqual(['message a', 'message b']);
    expect(shownEntries(state)[0]).toMatchObject({ message: { message: 'a' } });
    expect(state).toMatchObject({ isPartial: true, earlier: 'x' });
  });

  it('shows, after a gap in the stream, the status in the next send event, not that of a `send.updated` before the gap', () => {
    const failed = { type: 'send', send: sendOf('s', 1, 'failed'), now: 4 } as const;
    const before = after({ type: 'send', send: sendOf('s', 1), now: 1 }, update('s', 'relaying', 1, 2));
    expect(statusOf([{ type: 'gap' } as const, failed].reduce(reduceTimeline, before), 's')).toBe('failed');
  });
});
