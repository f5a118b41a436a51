import { describe, expect, it } from '@jest/globals';
import { rateOf, type RateState, recordRead } from './rate.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 0, 1);

/** Returns the state after a conversation whose messages are found at once. */
function talk(state: RateState | undefined, from: number, messages: number, gapMs: number): RateState {
  let next = recordRead(state, { arrivals: 1, at: from, times: [from] });
  for (let n = 1; n < messages; n += 1) {
    const at = from + n * gapMs;
    next = recordRead(next, { arrivals: 1, at, since: at - gapMs, times: [at] });
  }
  return next;
}

const silent = (): RateState => recordRead(undefined, { arrivals: 0, at: START });

describe('the rate of change of a contact', () => {
  it('is small but not zero for an unknown contact', () => {
    expect(rateOf(undefined, START)).toBeGreaterThan(1e-7);
    expect(rateOf(undefined, START)).toBeLessThan(1e-4);
  });

  it('rises more than a thousandfold with the first message of a conversation', () => {
    const state = recordRead(silent(), { arrivals: 1, at: START + HOUR, times: [START + HOUR] });
    expect(rateOf(state, START + HOUR)).toBeGreaterThan(1000 * rateOf(undefined, START));
  });

  it.each([2, 30, 120])(
    'is between a fifth and twice the true rate after eight messages with gaps of %d s',
    (seconds) => {
      const state = talk(silent(), START + HOUR, 8, seconds * SECOND);
      const rate = rateOf(state, state.at);
      expect(rate * seconds).toBeGreaterThan(0.2);
      expect(rate * seconds).toBeLessThan(2);
    },
  );

  it('falls to a tenth within three minutes after a conversation, and to a thousandth within an hour', () => {
    const state = talk(silent(), START + HOUR, 8, 15 * SECOND);
    const high = rateOf(state, state.at);
    expect(rateOf(state, state.at + 3 * MINUTE)).toBeLessThan(high / 10);
    expect(rateOf(state, state.at + HOUR)).toBeLessThan(high / 1000);
  });

  it('never rises while no message arrives', () => {
    const state = talk(silent(), START + HOUR, 5, 10 * SECOND);
    const rates = Array.from({ length: 200 }, (_, n) => rateOf(state, state.at + n * 20 * SECOND));
    for (const [n, rate] of rates.entries()) expect(rate).toBeLessThanOrEqual(rates[n - 1] ?? Infinity);
  });

  it('is higher between conversations if the contact has had many conversations', () => {
    const often = Array.from({ length: 10 }, (_, n) => START + n * HOUR).reduce<RateState>(
      (state, from) => talk(state, from, 8, 30 * SECOND),
      silent(),
    );
    const once = talk(silent(), START, 8, 30 * SECOND);
    const later = START + 14 * HOUR;
    expect(rateOf(once, later)).toBeGreaterThan(2 * rateOf(silent(), later));
    expect(rateOf(often, later)).toBeGreaterThan(5 * rateOf(once, later));
  });

  it('is hardly affected by conversations of three weeks ago', () => {
    const often = Array.from({ length: 10 }, (_, n) => START + n * HOUR).reduce<RateState>(
      (state, from) => talk(state, from, 8, 30 * SECOND),
      silent(),
    );
    expect(rateOf(often, START + 21 * 24 * HOUR)).toBeLessThan(2 * rateOf(undefined, START));
  });

  it('does not change at a read without new messages', () => {
    const state = talk(silent(), START, 3, 10 * SECOND);
    expect(recordRead(state, { arrivals: 0, at: START + HOUR, since: START + MINUTE })).toBe(state);
  });

  it('counts messages without a timestamp as spread evenly over the time since the last read', () => {
    const findings = { arrivals: 5, at: START + MINUTE, since: START };
    const timed = [6, 18, 30, 42, 54].map((second) => START + second * SECOND);
    expect(recordRead(silent(), findings)).toEqual(recordRead(silent(), { ...findings, times: timed }));
  });

  it.each([NaN, Infinity, -Infinity, 0, START + 100 * 24 * HOUR])(
    'stays a finite number after a message with the timestamp %p',
    (time) => {
      const state = recordRead(talk(silent(), START, 3, SECOND), {
        arrivals: 1,
        at: START + MINUTE,
        since: START,
        times: [time],
      });
      expect(rateOf(state, START + MINUTE)).toBeGreaterThan(0);
      expect(rateOf(state, START + MINUTE)).toBeLessThan(10);
      expect(state.at).toBeLessThanOrEqual(START + MINUTE);
    },
  );
});
