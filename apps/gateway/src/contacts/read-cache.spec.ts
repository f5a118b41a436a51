import { describe, expect, it } from '@jest/globals';
import { ReadCache } from './read-cache.js';

describe('The age of a response from the read cache', () => {
  it.each([
    ['with the cache on', 1_000],
    ['with the cache off', 0],
  ])(
    'is counted from the start of the upstream request, even if that request was in progress when the caller asked (%s)',
    async (_, kept) => {
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
      expect(await first).toEqual({ reply: { text: 'text', requestedAt: 0 } });
      expect(await second).toEqual({ reply: { text: 'text', requestedAt: 0 }, age: 15 });
      expect(await other).toEqual({ reply: { text: 'other', requestedAt: 15_500 } });
    },
  );
});
