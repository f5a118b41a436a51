import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  DELAY_STATISTICS_SLOT_TTL_MS,
  timeSlotNumberAt,
  timeSlotNumbersOfLastHour,
  DELAY_STATISTICS_MAX_AGE_MS,
} from './delay-window.js';

const moment = fc.integer({ min: 1_600_000_000_000, max: 2_600_000_000_000 });

describe('the statistics of detection delays in the last hour', () => {
  it('contain no delay older than an hour', () => {
    fc.assert(
      fc.property(
        moment,
        fc.integer({ min: DELAY_STATISTICS_MAX_AGE_MS, max: 10 * DELAY_STATISTICS_MAX_AGE_MS }),
        (now, age) => {
          expect(timeSlotNumbersOfLastHour(now)).not.toContain(timeSlotNumberAt(now - age));
        },
      ),
    );
  });

  it('cover at least 55 minutes', () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 55 * 60_000 }), (now, age) => {
        expect(timeSlotNumbersOfLastHour(now)).toContain(timeSlotNumberAt(now - age));
      }),
    );
  });

  it('do not include a time slot that Redis may already have deleted', () => {
    fc.assert(
      fc.property(moment, (writtenAt) => {
        expect(timeSlotNumbersOfLastHour(writtenAt + DELAY_STATISTICS_SLOT_TTL_MS)).not.toContain(
          timeSlotNumberAt(writtenAt),
        );
      }),
    );
  });
});
