import { describe, expect, it } from '@jest/globals';
import { parseMessage, type UpstreamMessage } from '#upstream';
import { compareMessages } from '../diff/compared-message.js';
import { diffMessages } from '../diff/diff.js';
import type { FirstReadEventRule } from '../diff/first-read.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { type Arrival, arrivalTimesOfNewMessages } from './poll-report.js';

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
  firstReadEventRule?: FirstReadEventRule,
): ReturnType<typeof diffMessages> {
  return diffMessages({
    contactId: 'c',
    compared: compareMessages(observed, known),
    sends: new Map(),
    ...(firstReadEventRule === undefined ? {} : { firstReadEventRule }),
  });
}

function arrivals(
  observed: UpstreamMessage[],
  known?: ReadonlyMap<string, KnownMessage>,
  firstReadEventRule?: FirstReadEventRule,
): Arrival[] {
  const { events } = read(observed, known, firstReadEventRule);
  return arrivalTimesOfNewMessages({ contactId: 'c', startedAt: 11_000, readAt: 1_000, observed, events });
}

describe('the messages whose detection delay is measured', () => {
  it.each(['inbound', 'outbound', 'unknown direction'])(
    'include new messages of each direction: %s',
    (direction) => {
      expect(arrivals([message('m', { direction })])).toMatchObject([{ timestamp: STAMP }]);
    },
  );

  it('do not include messages that the first read of a contact takes as the baseline', () => {
    expect(arrivals([message('m')], undefined, 'silent')).toEqual([]);
    expect(arrivals([message('m')], undefined, { emitAfter: STAMP, undated: 'silent' })).toEqual([]);
  });

  it("include messages of a contact's first read that do not belong to the baseline", () => {
    const observed = [message('old'), message('new', { timestamp: STAMP + 1 })];
    const found = arrivals(observed, undefined, { emitAfter: STAMP, undated: 'silent' });
    expect(found.map(({ timestamp }) => timestamp)).toEqual([STAMP + 1]);
  });

  it('do not include messages that only changed', () => {
    const { known } = read([message('m', { direction: 'outbound' })]);
    const changed = message('m', { direction: 'outbound', message: 'other', status: { delivered: true } });
    expect(read([changed], known).events).not.toEqual([]);
    expect(arrivals([changed], known)).toEqual([]);
  });
});

describe('the estimated arrival of a message without a timestamp', () => {
  const undated = Array.from({ length: 1_000 }, (_, n) => message(`m${n}`, { timestamp: undefined }));

  it('is spread evenly over the time between the previous read and the read that found the message', () => {
    const moments = arrivals(undated).map(({ estimatedAt }) => estimatedAt ?? NaN);
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...moments)).toBeLessThanOrEqual(11_000);
    const quarters = [0, 0, 0, 0];
    for (const moment of moments) {
      const quarter = Math.floor((moment - 1_000) / 2_500);
      quarters[quarter] = (quarters[quarter] ?? 0) + 1;
    }
    for (const share of quarters) expect(share).toBeGreaterThan(200);
  });

  it('is the same if it is computed again for the same read', () => {
    expect(arrivals(undated)).toEqual(arrivals(undated));
  });

  it('is unknown without a previous read', () => {
    const [observed] = undated;
    const { events } = read([observed as UpstreamMessage]);
    expect(
      arrivalTimesOfNewMessages({
        contactId: 'c',
        startedAt: 11_000,
        observed: [observed as UpstreamMessage],
        events,
      }),
    ).toEqual([{}]);
  });

  it('is the time of the previous read if the clock was set back after that read', () => {
    const [observed] = undated as [UpstreamMessage];
    const { events } = read([observed]);
    expect(
      arrivalTimesOfNewMessages({
        contactId: 'c',
        startedAt: 500,
        readAt: 1_000,
        observed: [observed],
        events,
      }),
    ).toEqual([{ estimatedAt: 1_000 }]);
  });
});
