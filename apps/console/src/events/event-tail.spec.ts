import { describe, expect, it, jest } from '@jest/globals';
import type { Event, EventList } from '#client';
import { EventTail, MAX_ROWS } from './event-tail.js';

const event = (n: number): Event => ({
  id: `evt_${n}`,
  type: 'webhook.test',
  timestamp: new Date(n).toISOString(),
  account: 'default',
  sequence: n,
  data: { webhookId: 'whk_1' },
});
const events = (from: number, to: number): Event[] =>
  Array.from({ length: to - from + 1 }, (_, i) => event(from + i));
const shown = (tail: EventTail): number[] => tail.snapshot.rows.map(({ sequence }) => sequence);

/** A log of events, read in pages of the given size. */
function logOf(
  stored: readonly Event[],
  pageSize: number,
): (after: string | undefined) => Promise<EventList> {
  return (after = '0') => {
    const start = Number(after);
    const end = Math.min(stored.length, start + pageSize);
    return Promise.resolve({
      events: stored.slice(start, end),
      next: String(end),
      hasMore: end < stored.length,
    });
  };
}

describe('the list of the latest events in the console', () => {
  it('shows new events newest first, at most MAX_ROWS, and notifies subscribers at most every 250 ms', async () => {
    jest.useFakeTimers();
    const tail = new EventTail({ read: logOf([], 1), stopsWhenFull: true });
    await tail.readOn();
    const report = jest.fn();
    tail.subscribe(report);
    for (const one of events(1, 3 * MAX_ROWS)) tail.receive(one);
    expect(report).not.toHaveBeenCalled();
    jest.advanceTimersByTime(250);
    expect(report).toHaveBeenCalledTimes(1);
    expect(shown(tail).slice(0, 2)).toEqual([3 * MAX_ROWS, 3 * MAX_ROWS - 1]);
    expect(tail.snapshot.rows).toHaveLength(MAX_ROWS);
    tail.close();
    jest.useRealTimers();
  });

  it('does not change while it is paused, and afterwards shows the events that arrived during the pause', async () => {
    const tail = new EventTail({ read: logOf([], 1), stopsWhenFull: true });
    await tail.readOn();
    tail.receive(event(1));
    tail.hold(true);
    for (const one of events(2, 4)) tail.receive(one);
    expect(shown(tail)).toEqual([1]);
    tail.hold(false);
    expect(shown(tail)).toEqual([4, 3, 2, 1]);
    expect(tail.snapshot.waiting).toBe(0);
    tail.close();
  });

  it('reads all stored events, and shows an event once even if the event also arrives on the stream', async () => {
    const tail = new EventTail({ read: logOf(events(1, 5), 2), stopsWhenFull: false });
    const reading = tail.readOn();
    for (const one of events(4, 6)) tail.receive(one);
    await reading;
    expect(shown(tail)).toEqual([6, 5, 4, 3, 2, 1]);
    expect(tail.snapshot).toMatchObject({ hasMore: false, isReading: false, waiting: 0 });
    tail.close();
  });

  it('reads events that were stored before the stream opened, and shows all events in order', async () => {
    const stored = events(1, 3);
    const read = logOf(stored, 10);
    const tail = new EventTail({ read, stopsWhenFull: true });
    await tail.readOn();
    tail.receive(event(6));
    stored.push(...events(4, 6));
    await tail.catchUp();
    expect(shown(tail)).toEqual([6, 5, 4, 3, 2, 1]);
    tail.close();
  });

  it('stops reading when the list is full, reads further events on request, and shows a new event only after all earlier events were read', async () => {
    const stored = events(1, MAX_ROWS + 10);
    const tail = new EventTail({ read: logOf(stored, 100), stopsWhenFull: true });
    await tail.readOn();
    tail.receive(event(MAX_ROWS + 11));
    expect(shown(tail)[0]).toBe(MAX_ROWS);
    expect(tail.snapshot.hasMore).toBe(true);
    await tail.readOn();
    expect(shown(tail)[0]).toBe(MAX_ROWS + 11);
    tail.close();
  });

  it('shows the error of a failed read, and the next requested read continues at the same event', async () => {
    let isBroken = true;
    const read = logOf(events(1, 3), 2);
    const tail = new EventTail({
      read: (after) => (after === '2' && isBroken ? Promise.reject(new Error('away')) : read(after)),
      stopsWhenFull: false,
    });
    await tail.readOn();
    expect(tail.snapshot.error).toEqual(new Error('away'));
    isBroken = false;
    await tail.readOn();
    expect(shown(tail)).toEqual([3, 2, 1]);
    tail.close();
  });
});
