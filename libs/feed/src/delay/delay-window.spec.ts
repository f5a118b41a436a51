import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SLOT_LIFE_MS, slotOf, slotsOfWindow, WINDOW_MS } from './delay-window.js';

const moment = fc.integer({ min: 1_600_000_000_000, max: 2_600_000_000_000 });

describe('the window of delays', () => {
  it('covers at most an hour: no slot contains an older delay', () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: WINDOW_MS, max: 10 * WINDOW_MS }), (now, age) => {
        expect(slotsOfWindow(now)).not.toContain(slotOf(now - age));
      }),
    );
  });

  it('covers at least 55 minutes', () => {
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 55 * 60_000 }), (now, age) => {
        expect(slotsOfWindow(now)).toContain(slotOf(now - age));
      }),
    );
  });

  it('contains no slot that may have expired', () => {
    fc.assert(
      fc.property(moment, (writtenAt) => {
        expect(slotsOfWindow(writtenAt + SLOT_LIFE_MS)).not.toContain(slotOf(writtenAt));
      }),
    );
  });
});
