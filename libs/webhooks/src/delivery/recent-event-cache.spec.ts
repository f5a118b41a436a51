import { describe, expect, it } from '@jest/globals';
import { eventToJson, type LoggedEvent } from '#events';
import { RecentEventCache } from './recent-event-cache.js';

const event = (n: number, data = '{}'): LoggedEvent => ({
  ...{ id: `evt_${n}`, type: 'message.received', timestamp: '2026-01-01T00:00:00.000Z', account: 'a' },
  ...{ sequence: n, data, position: `${n}-0` },
});
const NOTHING = { after: 0, until: 0, contents: new Map() };
const idsOf = (recent: RecentEventCache, account: string): string[] => [
  ...recent.of(account).contents.keys(),
];

describe('the cache of recent events', () => {
  it('returns an added event as JSON, with the same bytes as the logged event', () => {
    const recent = new RecentEventCache();
    recent.add('a', [event(5)]);
    expect(recent.of('a').contents.get('evt_5')).toEqual({ body: eventToJson(event(5)) });
    expect(recent.of('b').contents.get('evt_5')).toBeUndefined();
  });

  it('reports for each account the range of the log that the cached events cover', () => {
    const recent = new RecentEventCache();
    expect(recent.of('a')).toEqual(NOTHING);
    recent.add('a', [event(5), event(7)]);
    expect(recent.of('a')).toMatchObject({ after: 4, until: 7 });
    expect(recent.of('b')).toEqual(NOTHING);
  });

  it('that is too large evicts the oldest events, and then covers a shorter range of the log', () => {
    const recent = new RecentEventCache(3_500);
    const large = JSON.stringify('x'.repeat(700));
    for (const n of [1, 2, 3, 4]) recent.add('a', [event(n, large)]);
    expect(idsOf(recent, 'a')).toEqual(['evt_3', 'evt_4']);
    expect(recent.of('a')).toMatchObject({ after: 2, until: 4 });
    recent.add('a', [event(5, JSON.stringify('x'.repeat(9_000)))]);
    expect(recent.of('a')).toEqual(NOTHING);
  });

  it('that is too large evicts the oldest events of all accounts', () => {
    const recent = new RecentEventCache(3_500);
    const large = JSON.stringify('x'.repeat(700));
    for (const [n, account] of ['a', 'b', 'a', 'a'].entries()) recent.add(account, [event(n + 1, large)]);
    expect([idsOf(recent, 'a'), idsOf(recent, 'b')]).toEqual([['evt_3', 'evt_4'], []]);
    expect(recent.of('a')).toMatchObject({ after: 1, until: 4 });
    expect(recent.of('b')).toEqual(NOTHING);
  });

  it('counts the size of an event once, even if the event is added twice', () => {
    const recent = new RecentEventCache(3_500);
    const large = JSON.stringify('x'.repeat(700));
    recent.add('a', [event(1, large), event(2, large)]);
    recent.add('a', [event(1, large), event(2, large)]);
    expect(idsOf(recent, 'a')).toEqual(['evt_1', 'evt_2']);
  });

  it('has no events of an account after a call of `forget` for that account', () => {
    const recent = new RecentEventCache();
    recent.add('a', [event(1)]);
    recent.add('b', [event(2)]);
    recent.forget('a');
    expect(recent.of('a')).toEqual(NOTHING);
    expect(idsOf(recent, 'b')).toEqual(['evt_2']);
  });
});
