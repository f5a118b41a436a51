import { describe, expect, it } from '@jest/globals';
import { expectedMessageRate, type MessageRateState, messageRateStateAfterRead } from './rate.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 0, 1);

/** Returns the state after a burst of messages that are all found at once. */
function talk(
  state: MessageRateState | undefined,
  from: number,
  messages: number,
  gapMs: number,
): MessageRateState {
  let next = messageRateStateAfterRead(state, { arrivals: 1, at: from, times: [from] });
  for (let n = 1; n < messages; n += 1) {
    const at = from + n * gapMs;
    next = messageRateStateAfterRead(next, { arrivals: 1, at, since: at - gapMs, times: [at] });
  }
  return next;
}

const silent = (): MessageRateState => messageRateStateAfterRead(undefined, { arrivals: 0, at: START });

describe('the estimated message rate of a contact', () => {
  it('is small but not zero for a contact that was never read', () => {
    expect(expectedMessageRate(undefined, START)).toBeGreaterThan(1e-7);
    expect(expectedMessageRate(undefined, START)).toBeLessThan(1e-4);
  });

  it('rises more than a thousandfold with the first message of a burst', () => {
    const state = messageRateStateAfterRead(silent(), {
      arrivals: 1,
      at: START + HOUR,
      times: [START + HOUR],
    });
    expect(expectedMessageRate(state, START + HOUR)).toBeGreaterThan(
      1000 * expectedMessageRate(undefined, START),
    );
  });

  it.each([2, 30, 120])(
    'is between a fifth and twice the true message rate after eight messages, one every %d s',
    (seconds) => {
      const state = talk(silent(), START + HOUR, 8, seconds * SECOND);
      const rate = expectedMessageRate(state, state.at);
      expect(rate * seconds).toBeGreaterThan(0.2);
      expect(rate * seconds).toBeLessThan(2);
    },
  );

  it('falls to a tenth within three minutes after a burst of messages, and to a thousandth within an hour', () => {
    const state = talk(silent(), START + HOUR, 8, 15 * SECOND);
    const high = expectedMessageRate(state, state.at);
    expect(expectedMessageRate(state, state.at + 3 * MINUTE)).toBeLessThan(high / 10);
    expect(expectedMessageRate(state, state.at + HOUR)).toBeLessThan(high / 1000);
  });

  it('never rises while no message arrives', () => {
    const state = talk(silent(), START + HOUR, 5, 10 * SECOND);
    const rates = Array.from({ length: 200 }, (_, n) =>
      expectedMessageRate(state, state.at + n * 20 * SECOND),
    );
    for (const [n, rate] of rates.entries()) expect(rate).toBeLessThanOrEqual(rates[n - 1] ?? Infinity);
  });

  it('is higher between two bursts of messages if the contact has had many bursts', () => {
    const often = Array.from({ length: 10 }, (_, n) => START + n * HOUR).reduce<MessageRateState>(
      (state, from) => talk(state, from, 8, 30 * SECOND),
      silent(),
    );
    const once = talk(silent(), START, 8, 30 * SECOND);
    const later = START + 14 * HOUR;
    expect(expectedMessageRate(once, later)).toBeGreaterThan(2 * expectedMessageRate(silent(), later));
    expect(expectedMessageRate(often, later)).toBeGreaterThan(5 * expectedMessageRate(once, later));
  });

  it('is hardly affected by bursts of messages three weeks ago', () => {
    const often = Array.from({ length: 10 }, (_, n) => START + n * HOUR).reduce<MessageRateState>(
      (state, from) => talk(state, from, 8, 30 * SECOND),
      silent(),
    );
    expect(expectedMessageRate(often, START + 21 * 24 * HOUR)).toBeLessThan(
      2 * expectedMessageRate(undefined, START),
    );
  });

  it('has the same stored state before and after a read that finds no new message', () => {
    const state = talk(silent(), START, 3, 10 * SECOND);
    expect(messageRateStateAfterRead(state, { arrivals: 0, at: START + HOUR, since: START + MINUTE })).toBe(
      state,
    );
  });

  it('does not count messages with unused timestamps as messages without a timestamp if a read finds too many timestamps', () => {
    const times = Array.from({ length: 120 }, (_, n) => START + n * SECOND);
    const read = (used: number[]): MessageRateState =>
      messageRateStateAfterRead(silent(), {
        ...{ arrivals: used.length, at: START + HOUR, since: START, times: used },
      });
    expect(read(times)).toEqual(read(times.slice(-50)));
  });

  it('counts messages without a timestamp as spread evenly over the time since the last read', () => {
    const findings = { arrivals: 5, at: START + MINUTE, since: START };
    const timed = [6, 18, 30, 42, 54].map((second) => START + second * SECOND);
    expect(messageRateStateAfterRead(silent(), findings)).toEqual(
      messageRateStateAfterRead(silent(), { ...findings, times: timed }),
    );
  });

  it.each([NaN, Infinity, -Infinity, 0, START + 100 * 24 * HOUR])(
    'stays a finite number after a message with the timestamp %p',
    (time) => {
      const state = messageRateStateAfterRead(talk(silent(), START, 3, SECOND), {
        arrivals: 1,
        at: START + MINUTE,
        since: START,
        times: [time],
      });
      expect(expectedMessageRate(state, START + MINUTE)).toBeGreaterThan(0);
      expect(expectedMessageRate(state, START + MINUTE)).toBeLessThan(10);
      expect(state.at).toBeLessThanOrEqual(START + MINUTE);
    },
  );
});
