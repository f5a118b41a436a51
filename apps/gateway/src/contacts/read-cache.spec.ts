import { describe, expect, it } from '@jest/globals';
import { ReadCache } from './read-cache.js';

describe('The age of an answer', () => {
  it.each([
    ['with a cache', 1_000],
    ['without one', 0],
  ])('that was asked for by an earlier read, which it shares, is counted from there: %s', async (_, kept) => {
    let now = 0;
    const cache = new ReadCache(kept, () => now);
    let answer: (text: string) => void = () => undefined;
    const ask = (): Promise<string> => new Promise((resolve) => (answer = resolve));
    const first = cache.read(['contacts'], ask);
    now = 14_000;
    const second = cache.read(['contacts'], ask);
    now = 15_500;
    const other = cache.read(['messages'], () => Promise.resolve('other'));
    answer('text');
    expect(await first).toEqual({ reply: { text: 'text', askedAt: 0 } });
    expect(await second).toEqual({ reply: { text: 'text', askedAt: 0 }, age: 15 });
    expect(await other).toEqual({ reply: { text: 'other', askedAt: 15_500 } });
  });
});
