import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EventLoopLagMeter } from './event-loop-lag-meter.js';

describe('the lag of the event loop', () => {
  let lag: EventLoopLagMeter;

  beforeEach(() => {
    lag = new EventLoopLagMeter();
  });
  afterEach(() => {
    lag.stop();
  });

  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await pause(10);
  };

  /** Blocks the event loop. */
  const block = (ms: number): void => {
    for (const end = performance.now() + ms; performance.now() < end;);
  };

  it('is 0 before the first measurement', () => {
    expect(lag.report()).toEqual({ last: 0, min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 });
  });

  it('is the time by which a timer fired late, and is reported only once', async () => {
    lag.start();
    // The first measurement is due after a second.
    block(1_300);
    await until(() => lag.report().max > 0.25);
    expect(lag.report().max).toBeLessThan(0.25);
  });

  it('is also measured while the process is busy', async () => {
    lag.start();
    let [isMeasured, blocks] = [false, 0];
    await until(() => {
      block(100);
      blocks += 1;
      isMeasured ||= lag.report().max > 0.05;
      return isMeasured && blocks > 1;
    });
  });
});
