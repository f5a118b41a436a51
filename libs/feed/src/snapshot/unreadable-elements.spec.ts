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

describe('a contact that is missing from a list with unreadable elements', () => {
  it('counts as possibly unreadable if the first read without the contact found more unreadable elements than the read before', () => {
    expect(mayMissingContactBeUnreadable(after(0, 1, 1, 1), 2)).toBe(true);
  });

  it('counts as possibly unreadable only if it went missing when the number of unreadable elements rose', () => {
    const elements = after(0, 0, 1, 1, 2, 2);
    const missingAt = [1, 2, 3, 4, 5, 6].filter((at) => mayMissingContactBeUnreadable(elements, at));
    expect(missingAt).toEqual([3, 5]);
  });

  it('stops counting as possibly unreadable when the number of unreadable elements falls back to its earlier value', () => {
    expect(mayMissingContactBeUnreadable(after(1, 3, 1), 2)).toBe(false);
    expect(mayMissingContactBeUnreadable(after(1, 3, 2), 2)).toBe(true);
  });

  it('counts as possibly unreadable if the list has more unreadable elements than an older build stored', () => {
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

  it('keeps at most 20 increases of the number, and merges the oldest ones so that none is lost', () => {
    const elements = after(...Array.from({ length: 100 }, (_, i) => i + 1));
    expect(elements.rises.length).toBeLessThanOrEqual(20);
    const missingAt = Array.from({ length: 99 }, (_, i) => i + 2);
    expect(missingAt.every((at) => mayMissingContactBeUnreadable(elements, at))).toBe(true);
  });
});
