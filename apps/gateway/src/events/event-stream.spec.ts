import { expect, it, jest } from '@jest/globals';
import { EventLogFollower, formatCursor, type LoggedEvent } from '#events';
import { EventStream } from './event-stream.js';
import type { SseConnection } from './sse-connection.js';

/** Larger than one block of events, so that each event is a block. */
const DATA = JSON.stringify('x'.repeat(70_000));

const eventAt = (position: string): LoggedEvent => ({
  id: `evt_${position}`,
  type: 'upstream.recovered',
  timestamp: '2030-01-01T00:00:00.000Z',
  account: 'a',
  contactId: 'c',
  sequence: 1,
  data: DATA,
  position,
});

it('an event stream whose API key is revoked ends within a page of events, and its last cursor is that of the last event that it sent', async () => {
  const written: string[] = [];
  const connection = { write: async (text: string) => Promise.resolve(void written.push(text)) };
  const stream = new EventStream(
    {
      read: async () => Promise.reject(new Error('the stream goes on')),
      follower: new EventLogFollower(true, () => undefined),
      allowed: async () => Promise.resolve(written.length < 3),
    },
    connection as SseConnection,
    { commentMs: 0 },
    { epoch: 'e', position: '0-0' },
  );
  const events = ['1-0', '2-0', '3-0'].map(eventAt);
  await stream.run(
    { events, next: { epoch: 'e', position: '3-0' }, hasMore: false },
    new AbortController().signal,
  );
  expect(written.flatMap((text) => /^event/m.exec(text) ?? [])).toHaveLength(2);
  expect(written.at(-1)?.split('\n')[0]).toBe(`id: ${formatCursor({ epoch: 'e', position: '2-0' })}`);
});

it('an event stream sends the cursor with a comment at each comment interval, even if frequent live changes make comments unnecessary', async () => {
  const written: string[] = [];
  const stop = new AbortController();
  const follower = new EventLogFollower(true, () => undefined);
  let now = 0;
  let reads = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  try {
    const stream = new EventStream(
      {
        // Each page passes an event that the filter excludes.
        read: async () => {
          reads += 1;
          now += 10_000;
          return Promise.resolve({
            events: [],
            next: { epoch: 'e', position: `${reads}-0` },
            hasMore: false,
          });
        },
        follower,
        allowed: async () => Promise.resolve(true),
        changes: {
          take: () => {
            follower.wake();
            if (reads === 4) stop.abort();
            return ': a live change\n\n';
          },
          isBroken: false,
        },
      },
      { write: async (text: string) => Promise.resolve(void written.push(text)) } as SseConnection,
      { commentMs: 15_000 },
      { epoch: 'e', position: '0-0' },
    );
    await stream.run({ events: [], next: { epoch: 'e', position: '0-0' }, hasMore: false }, stop.signal);
  } finally {
    clock.mockRestore();
  }
  const [second, last] = ['2-0', '4-0'].map(
    (position) => `id: ${formatCursor({ epoch: 'e', position })}\n\n`,
  );
  expect(written.slice(1).filter((text) => text.includes('id: '))).toEqual([`: \n\n${second}`, last]);
});
