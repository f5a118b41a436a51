import { expect, it } from '@jest/globals';
import { Attention } from './attention.js';

it('the console marks its requests as unattended if the last user input was more than a minute ago', () => {
  let now = 1_000;
  const page = new EventTarget();
  const attention = new Attention(page, () => now);
  now += 60_000;
  expect(attention.headers).toEqual({});
  now += 1;
  expect(attention.headers).toEqual({ 'X-Tidings-Unattended': '1' });
  page.dispatchEvent(new Event('keydown'));
  expect(attention.headers).toEqual({});
});

it('user input in a watched frame counts as user input in the console', () => {
  let now = 1_000;
  const frame = new EventTarget();
  const attention = new Attention(new EventTarget(), () => now);
  attention.watch(frame);
  now += 60_001;
  expect(attention.headers).not.toEqual({});
  frame.dispatchEvent(new Event('pointermove'));
  expect(attention.headers).toEqual({});
});
