import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { pauseWhileHidden } from './pause-while-hidden.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

it('the live events are paused once the console was hidden for ten seconds, until it is visible again', () => {
  const page = Object.assign(new EventTarget(), { hidden: false });
  const calls: string[] = [];
  const stop = pauseWhileHidden(page, {
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
  });
  const show = (isShown: boolean): void => {
    page.hidden = !isShown;
    page.dispatchEvent(new Event('visibilitychange'));
  };
  show(false);
  jest.advanceTimersByTime(9_999);
  show(true);
  jest.advanceTimersByTime(60_000);
  expect(calls).toEqual(['resume', 'resume']);
  show(false);
  jest.advanceTimersByTime(10_000);
  expect(calls).toEqual(['resume', 'resume', 'pause']);
  show(true);
  expect(calls.at(-1)).toBe('resume');
  show(false);
  stop();
  jest.advanceTimersByTime(60_000);
  expect(calls.at(-1)).toBe('resume');
});
