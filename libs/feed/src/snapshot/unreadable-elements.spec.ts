import { describe, expect, it } from '@jest/globals';
import {
  updateUnreadableElementHistory,
  mayMissingContactBeUnreadable,
  parseUnreadableElementHistory,
  type UnreadableElementHistory,
  serializeUnreadableElementHistory,
} from './unreadable-elements.js';

/** Returns the history after lists read at 1, 2, 3… with these numbers of unreadable elements. */
const after = (...counts: number[]): UnreadableElementHistory => {
  let elements: UnreadableElementHistory | undefined;
  for (const [i, count] of counts.entries())
    elements = updateUnreadableElementHistory(elements, count, i + 1);
  if (elements === undefined) throw new Error('there was no list');
  return elements;
};

describe('a contact that is missing from a contact list with unreadable elements', () => {
  it('may be an unreadable element if the first read without the contact found more unreadable elements than the read before', () => {
    expect(mayMissingContactBeUnreadable(after(0, 1, 1, 1), 2)).toBe(true);
  });

  it.each([0, 1])(
    "may be an unreadable element even if the second read ends %p ms before the first one by Redis' clock",
    (ms) => {
      const elements = updateUnreadableElementHistory(after(0), 1, 1 - ms);
      expect(mayMissingContactBeUnreadable(elements, 1 - ms)).toBe(true);
    },
  );

  it('may be an unreadable element only if the contact went missing when the number of unreadable elements rose', () => {
    const elements = after(0, 0, 1, 1, 2, 2);
    const missingAt = [1, 2, 3, 4, 5, 6].filter((at) => mayMissingContactBeUnreadable(elements, at));
    expect(missingAt).toEqual([3, 5]);
  });

  it('is certainly missing if there are as few unreadable elements again as before the contact went missing', () => {
    expect(mayMissingContactBeUnreadable(after(1, 3, 1), 2)).toBe(false);
    expect(mayMissingContactBeUnreadable(after(1, 3, 2), 2)).toBe(true);
  });

  it('may be an unreadable element if the number of unreadable elements has risen since an older build stored that number', () => {
    const old = parseUnreadableElementHistory(undefined, 1);
    expect(mayMissingContactBeUnreadable(updateUnreadableElementHistory(old, 2, 1_000), 900)).toBe(true);
    expect(mayMissingContactBeUnreadable(updateUnreadableElementHistory(old, 1, 1_000), 900)).toBe(false);
  });
});

describe('the history of the number of unreadable elements', () => {
  it('is the same after it was serialized and parsed', () => {
    const elements = after(1, 2, 3, 3);
    expect(parseUnreadableElementHistory(serializeUnreadableElementHistory(elements), 0)).toEqual(elements);
  });

  it('has one entry per increase; if it would have more than 20 entries, the oldest are merged, not removed', () => {
    const elements = after(...Array.from({ length: 100 }, (_, i) => i + 1));
    expect(elements.rises.length).toBeLessThanOrEqual(20);
    const missingAt = Array.from({ length: 99 }, (_, i) => i + 2);
    expect(missingAt.every((at) => mayMissingContactBeUnreadable(elements, at))).toBe(true);
  });
});
