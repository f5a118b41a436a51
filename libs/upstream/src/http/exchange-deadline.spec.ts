import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { ExchangeDeadline } from './exchange-deadline.js';

const TIME_MS = 50;

describe('the deadline of an HTTP request and its reply', () => {
  it('aborts the request when its time is over', async () => {
    const began = performance.now();
    const deadline = new ExchangeDeadline(TIME_MS);
    await once(deadline.signal, 'abort');
    expect(deadline.isOver).toBe(true);
    // A timer may be early by less than a millisecond.
    expect(performance.now() - began).toBeGreaterThan(TIME_MS - 2);
  });

  it('does not count the time during which it is paused', async () => {
    const deadline = new ExchangeDeadline(TIME_MS);
    deadline.pause();
    await new Promise((over) => setTimeout(over, 2 * TIME_MS));
    expect(deadline.isOver).toBe(false);
    deadline.resume();
    expect(deadline.isOver).toBe(false);
    await once(deadline.signal, 'abort');
    deadline.pause();
    deadline.resume();
    expect(deadline.isOver).toBe(true);
  });
});
