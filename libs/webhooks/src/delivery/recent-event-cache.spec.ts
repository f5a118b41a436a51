import { describe, expect, it } from '@jest/globals';
import { eventToJson, type LoggedEvent } from '#events';
import { RecentEventCache } from './recent-event-cache.js';

const event = (n: number, data = '{}'): LoggedEvent => ({
  ...{ id: `evt_${n}`, type: 'message.received', timestamp: '2026-01-01T00:00:00.000Z', account: 'a' },
  ...{ sequence: n, data, position: `${n}-0` },
});

describe('the cache of recent events', () => {
  it('returns an added event as JSON, with the same bytes as the logged event', () => {
    const recent = new RecentEventCache();
    recent.add('a', [event(5)]);
    expect(recent.contentOf('a', 'evt_5')).toEqual({ body: eventToJson(event(5)) });
    expect(recent.contentOf('b', 'evt_5')).toBeUndefined();
  });

  it('reports for each account the range of the log that the cached events cover', () => {
    const recent = new RecentEventCache();
    expect(recent.periodOf('a')).toEqual({ after: 0, until: 0 });
    recent.add('a', [event(5), event(7)]);
    expect(recent.periodOf('a')).toEqual({ after: 4, until: 7 });
    expect(recent.periodOf('b')).toEqual({ after: 0, until: 0 });
  });

  it('that is too large evicts the oldest events, and then covers a shorter range of the log', () => {
    const recent = new RecentEventCache(4_000);
    const large = JSON.stringify('x'.repeat(700));
    for (const n of [1, 2, 3, 4]) recent.add('a', [event(n, large)]);
    expect([1, 2, 3, 4].map((n) => recent.contentOf('a', `evt_${n}`) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(recent.periodOf('a')).toEqual({ after: 2, until: 4 });
    recent.add('a', [event(5, JSON.stringify('x'.repeat(9_000)))]);
    expect(recent.periodOf('a')).toEqual({ after: 0, until: 0 });
  });

  it('has no events of an account after a call of `forget` for that account', () => {
    const recent = new RecentEventCache();
    recent.add('a', [event(1)]);
    recent.forget('a');
    expect(recent.contentOf('a', 'evt_1')).toBeUndefined();
    expect(recent.periodOf('a')).toEqual({ after: 0, until: 0 });
  });
});
