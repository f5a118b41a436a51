import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Attention } from './attention.js';
import { keepAlive } from './keep-alive.js';

const MINUTE_MS = 60_000;

let page: EventTarget;
let extend: jest.Mock<() => Promise<void>>;
let stop: () => void;

beforeEach(() => {
  jest.useFakeTimers();
  page = new EventTarget();
  extend = jest.fn(() => Promise.reject(new Error('The gateway cannot be reached.')));
  stop = keepAlive(new Attention(page), extend);
});

afterEach(() => {
  stop();
  jest.useRealTimers();
});

it('a session is extended every two minutes while somebody uses the console, even if every extension fails', () => {
  for (let minute = 0; minute < 60; minute += 1) {
    page.dispatchEvent(new Event('keydown'));
    jest.advanceTimersByTime(MINUTE_MS);
  }
  expect(extend).toHaveBeenCalledTimes(30);
});

it('a session is not extended while nobody uses the console', () => {
  jest.advanceTimersByTime(60 * MINUTE_MS);
  expect(extend).not.toHaveBeenCalled();
  page.dispatchEvent(new Event('keydown'));
  jest.advanceTimersByTime(60 * MINUTE_MS);
  expect(extend).toHaveBeenCalledTimes(1);
});

it('a session is not extended after the console stopped using it', () => {
  stop();
  page.dispatchEvent(new Event('keydown'));
  jest.advanceTimersByTime(60 * MINUTE_MS);
  expect(extend).not.toHaveBeenCalled();
});
