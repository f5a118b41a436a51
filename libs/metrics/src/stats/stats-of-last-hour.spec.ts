import { describe, expect, it } from '@jest/globals';
import { minuteNumberAt, createZeroCounts } from './minute-counts.js';
import { statsOfLastHour } from './stats-of-last-hour.js';

const NOW = Date.parse('2026-11-25T10:30:20.500Z');
const LAST = minuteNumberAt(NOW);
const BACKLOG = { sends: 2, deliveries: 5 };

describe('The statistics of an hour', () => {
  it('cover 60 minutes, with the oldest minute first and the current minute last', () => {
    const { from, to, stepSeconds, minutes } = statsOfLastHour({ now: NOW, minutes: new Map() }, BACKLOG);
    expect(minutes).toHaveLength(60);
    expect([from, minutes[0], minutes.at(-1)]).toEqual([
      ...['2026-11-25T09:31:00.000Z', '2026-11-25T09:31:00.000Z', '2026-11-25T10:30:00.000Z'],
    ]);
    expect([to, stepSeconds]).toEqual(['2026-11-25T10:30:20.500Z', 60]);
  });

  it('show 0 where nothing happened, and null where nothing was measured', () => {
    const stats = statsOfLastHour({ now: NOW, minutes: new Map() }, BACKLOG);
    expect(stats.sends.created).toEqual(Array(60).fill(0));
    expect(stats.detectionDelayMs).toEqual({ mean: Array(60).fill(null), max: Array(60).fill(null) });
    expect(stats.backlog.sends).toEqual([...(Array(59).fill(null) as null[]), 2]);
    expect(stats.backlog.deliveries.at(-1)).toBe(5);
  });

  it('show the counts of each minute in chronological order, and leave out minutes before that hour', () => {
    const counts = {
      ...createZeroCounts(),
      ...{ sendsSent: 3, deliveryDelays: 2, deliveryDelaySumMs: 301, deliveryDelayMaxMs: 300 },
      ...{ backlogSamples: 2, backlogSends: 0, backlogDeliveries: 8 },
    };
    const minutes = new Map([LAST - 60, LAST - 59, LAST].map((minute) => [minute, counts]));
    const stats = statsOfLastHour({ now: NOW, minutes }, BACKLOG);
    expect(stats.sends.sent).toEqual([3, ...(Array(58).fill(0) as number[]), 3]);
    expect([stats.deliveryDelayMs.mean[0], stats.deliveryDelayMs.max[0]]).toEqual([151, 300]);
    expect([stats.backlog.sends[0], stats.backlog.deliveries[0], stats.backlog.sends[1]]).toEqual([
      0,
      8,
      null,
    ]);
  });
});
