import { describe, expect, it } from '@jest/globals';
import type { Cursor, EventPage, LoggedEvent } from '#events';
import { readEventsInTimeWindow } from './log-window.js';

const HOUR = 3_600_000;
const START = Date.parse('2026-11-28T00:00:00.000Z');

/** A log with an event every ten seconds. It counts the events that are read. */
class LogOfADay {
  eventsRead = 0;
  private readonly events: LoggedEvent[] = Array.from({ length: 8_640 }, (_, n) => {
    const at = START + n * 10_000;
    return {
      ...{ id: `evt_${n}`, type: 'message.received', account: 'a', contactId: 'c', sequence: n, data: '{}' },
      ...{ timestamp: new Date(at).toISOString(), position: `${at}-0` },
    };
  });

  end(): Promise<Cursor> {
    return Promise.resolve({ epoch: 'e', position: this.events.at(-1)?.position ?? '' });
  }

  read(_: string, after: Cursor | undefined, limit: number): Promise<EventPage> {
    const from = after === undefined ? 0 : this.events.findIndex(({ position }) => position > after.position);
    const events = this.events.slice(from, from + limit);
    this.eventsRead += events.length;
    const next = { epoch: 'e', position: events.at(-1)?.position ?? '' };
    return Promise.resolve({ events, next, hasMore: from + limit < this.events.length });
  }
}

describe('the events of a time window', () => {
  it('are found without a read of the whole log: the read ends about two hours after the window', async () => {
    const log = new LogOfADay();
    const found: LoggedEvent[] = [];
    const window = { since: START + HOUR, until: START + 2 * HOUR };
    for await (const events of readEventsInTimeWindow(log, 'a', window)) found.push(...events);
    expect(found).toHaveLength(360);
    // Three hours are 1,080 events, in pages of 500.
    expect(log.eventsRead).toBe(1_500);
  });
});
