import { describe, expect, it } from '@jest/globals';
import {
  afterList,
  mayBeUnreadable,
  readUnreadable,
  type UnreadableElements,
  writeUnreadable,
} from './unreadable-elements.js';

/** What is remembered after lists at 1, 2, 3… of which so many elements each could not be read. */
const after = (...counts: number[]): UnreadableElements => {
  let elements: UnreadableElements | undefined;
  for (const [i, count] of counts.entries()) elements = afterList(elements, count, i + 1);
  if (elements === undefined) throw new Error('there was no list');
  return elements;
};

describe('a contact that is missing', () => {
  it('may be an element that became unreadable in the same list', () => {
    expect(mayBeUnreadable(after(0, 1, 1, 1), 2)).toBe(true);
  });

  it('is none that was unreadable before, nor one that became so later', () => {
    const elements = after(0, 0, 1, 1, 2, 2);
    const missingAt = [1, 2, 3, 4, 5, 6].filter((at) => mayBeUnreadable(elements, at));
    expect(missingAt).toEqual([3, 5]);
  });

  it('is none once there are as few again as before', () => {
    expect(mayBeUnreadable(after(1, 3, 1), 2)).toBe(false);
    expect(mayBeUnreadable(after(1, 3, 2), 2)).toBe(true);
  });

  it('may be one where an older build read the lists in between', () => {
    const old = readUnreadable(undefined, 1);
    expect(mayBeUnreadable(afterList(old, 2, 1_000), 900)).toBe(true);
    expect(mayBeUnreadable(afterList(old, 1, 1_000), 900)).toBe(false);
  });
});

describe('what is remembered', () => {
  it('is read as it was written', () => {
    const elements = after(1, 2, 3, 3);
    expect(readUnreadable(writeUnreadable(elements), 0)).toEqual(elements);
  });

  it('is bounded, and doubts rather too many contacts than too few', () => {
    const elements = after(...Array.from({ length: 100 }, (_, i) => i + 1));
    expect(elements.rises.length).toBeLessThanOrEqual(20);
    const missingAt = Array.from({ length: 99 }, (_, i) => i + 2);
    expect(missingAt.every((at) => mayBeUnreadable(elements, at))).toBe(true);
  });
});
