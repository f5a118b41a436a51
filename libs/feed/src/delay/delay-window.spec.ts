import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DELAY_PERIOD_TTL_MS, delayPeriodOf, delayPeriodsOfWindow, DELAY_WINDOW_MS } from './delay-window.js';

const moment = fc.integer({ min: 1_600_000_000_000, max: 2_600_000_000_000 });

describe('the stored delays of the last hour', () => {
  it('contain no delay older than an hour', () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: DELAY_WINDOW_MS, max: 10 * DELAY_WINDOW_MS }), (now, age) => {
        expect(delayPeriodsOfWindow(now)).not.toContain(delayPeriodOf(now - age));
      }),
    );
  });

  it('cover at least 55 minutes', () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 55 * 60_000 }), (now, age) => {
        expect(delayPeriodsOfWindow(now)).toContain(delayPeriodOf(now - age));
      }),
    );
  });

  it('do not include a time slot that Redis may already have deleted', () => {
    fc.assert(
      fc.property(moment, (writtenAt) => {
        expect(delayPeriodsOfWindow(writtenAt + DELAY_PERIOD_TTL_MS)).not.toContain(delayPeriodOf(writtenAt));
      }),
    );
  });
});
