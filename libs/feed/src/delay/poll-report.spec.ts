import { describe, expect, it } from '@jest/globals';
import { parseMessage, type UpstreamMessage } from '#upstream';
import { diff } from '../diff/diff.js';
import type { FirstRead } from '../diff/first-read.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { type Arrival, arrivalsIn } from './poll-report.js';

const STAMP = Date.parse('2026-11-20T10:00:00.000Z');

function message(id: string, fields: Record<string, unknown> = {}): UpstreamMessage {
  const parsed = parseMessage({
    id,
    direction: 'inbound',
    timestamp: new Date(STAMP).toISOString(),
    ...fields,
  });
  if (parsed === undefined) throw new Error('not a message');
  return parsed;
}

function read(
  observed: UpstreamMessage[],
  known: ReadonlyMap<string, KnownMessage> = new Map(),
  firstRead?: FirstRead,
): ReturnType<typeof diff> {
  return diff({
    contactId: 'c',
    observed,
    known,
    sends: new Map(),
    ...(firstRead === undefined ? {} : { firstRead }),
  });
}

function arrivals(
  observed: UpstreamMessage[],
  known?: ReadonlyMap<string, KnownMessage>,
  firstRead?: FirstRead,
): Arrival[] {
  const { events } = read(observed, known, firstRead);
  return arrivalsIn({ contactId: 'c', startedAt: 11_000, readAt: 1_000, observed, events });
}

describe('the messages whose delay counts', () => {
  it.each(['inbound', 'outbound', 'of no known direction'])('are those that are new, %s', (direction) => {
    expect(arrivals([message('m', { direction })])).toMatchObject([{ timestamp: STAMP }]);
  });

  it('are none of a baseline', () => {
    expect(arrivals([message('m')], undefined, 'silent')).toEqual([]);
    expect(arrivals([message('m')], undefined, { tellAfter: STAMP, undated: 'silent' })).toEqual([]);
  });

  it('are those of a first read that are emitted', () => {
    const observed = [message('old'), message('new', { timestamp: STAMP + 1 })];
    const found = arrivals(observed, undefined, { tellAfter: STAMP, undated: 'silent' });
    expect(found.map(({ timestamp }) => timestamp)).toEqual([STAMP + 1]);
  });

  it('are none that only changed', () => {
    const { known } = read([message('m', { direction: 'outbound' })]);
    const changed = message('m', { direction: 'outbound', message: 'other', status: { delivered: true } });
    expect(read([changed], known).events).not.toEqual([]);
    expect(arrivals([changed], known)).toEqual([]);
  });
});

describe('a message without a timestamp', () => {
  const undated = Array.from({ length: 1_000 }, (_, n) => message(`m${n}`, { timestamp: undefined }));

  it('came at a moment between the two reads, spread evenly over all of them', () => {
    const moments = arrivals(undated).map(({ shownAt }) => shownAt ?? NaN);
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...moments)).toBeLessThanOrEqual(11_000);
    const quarters = [0, 0, 0, 0];
    for (const moment of moments) {
      const quarter = Math.floor((moment - 1_000) / 2_500);
      quarters[quarter] = (quarters[quarter] ?? 0) + 1;
    }
    for (const share of quarters) expect(share).toBeGreaterThan(200);
  });

  it('gets the same moment again when the same read is made again', () => {
    expect(arrivals(undated)).toEqual(arrivals(undated));
  });

  it('has no moment where its contact was not read before', () => {
    const [observed] = undated;
    const { events } = read([observed as UpstreamMessage]);
    expect(
      arrivalsIn({ contactId: 'c', startedAt: 11_000, observed: [observed as UpstreamMessage], events }),
    ).toEqual([{}]);
  });

  it('of which the read before began later by a clock that went back came at that moment', () => {
    const [observed] = undated as [UpstreamMessage];
    const { events } = read([observed]);
    expect(
      arrivalsIn({ contactId: 'c', startedAt: 500, readAt: 1_000, observed: [observed], events }),
    ).toEqual([{ shownAt: 1_000 }]);
  });
});
