import { describe, expect, it } from '@jest/globals';
import { AttemptPlaces } from './attempt-places.js';

describe('the places for attempts', () => {
  it('are never more than there are, and nobody gets more than half of what is free', async () => {
    const places = new AttemptPlaces(8);
    const taken: number[] = [];
    for (let i = 0; i < 5; i++) taken.push(await places.take(50, 0));
    expect(taken).toEqual([4, 2, 1, 1, 0]);
    places.giveBack(3);
    expect(await places.take(1, 0)).toBe(1);
  });

  it('are waited for, by any number at once, until one is given back', async () => {
    const places = new AttemptPlaces(1);
    expect(await places.take(1, 0)).toBe(1);
    const waiting = Array.from({ length: 30 }, () => places.take(1, 10_000));
    places.giveBack(1);
    const taken = await Promise.all(waiting);
    expect(taken.reduce((sum, n) => sum + n, 0)).toBe(1);
  });
});
