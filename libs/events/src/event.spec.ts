import { describe, expect, it } from '@jest/globals';
import { type Event, eventToJson } from './event.js';
import { EVENT_TYPES, isEventTypePattern, matchesEventType } from './event-type.js';

const event: Event = {
  id: 'evt_1',
  type: 'message.received',
  timestamp: '2026-01-01T00:00:00.000Z',
  account: 'default',
  contactId: 'c"1',
  sequence: 17,
  data: '{"n":1.0,"b":{}}',
};

describe('an event as JSON', () => {
  it('has the documented fields in a fixed order, and its data has the same bytes as when recorded', () => {
    expect(eventToJson(event)).toBe(
      '{"id":"evt_1","type":"message.received","timestamp":"2026-01-01T00:00:00.000Z","account":"default","contactId":"c\\"1","sequence":17,"data":{"n":1.0,"b":{}}}',
    );
  });

  it('omits an absent contactId and fields that only the log uses', () => {
    const { contactId, ...account } = event;
    expect(contactId).toBeDefined();
    const logged = { ...account, position: '1-1' };
    expect(Object.keys(JSON.parse(eventToJson(logged)) as object)).toEqual([
      'id',
      'type',
      'timestamp',
      'account',
      'sequence',
      'data',
    ]);
  });
});

describe('an event type pattern', () => {
  it('matches one event type (send.failed), all types with one prefix (send.*), or every type (*)', () => {
    expect(matchesEventType('*', 'send.failed')).toBe(true);
    expect(matchesEventType('send.*', 'send.failed')).toBe(true);
    expect(matchesEventType('send.failed', 'send.failed')).toBe(true);
    expect(matchesEventType('send.*', 'message.sent')).toBe(false);
    expect(matchesEventType('send.', 'send.failed')).toBe(false);
    expect(matchesEventType('sen*', 'send.failed')).toBe(false);
  });

  it.each(['', 'message', 'messages.*', '.*', 'message.lost', '**'])(
    'is invalid if it matches no known event type: %p',
    (text) => {
      expect(isEventTypePattern(text)).toBe(false);
    },
  );

  it('can be the name of any known event type', () => {
    expect(EVENT_TYPES.every(isEventTypePattern)).toBe(true);
  });
});
