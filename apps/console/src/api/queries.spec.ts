import { describe, expect, it } from '@jest/globals';
import { InfiniteQueryObserver } from '@tanstack/preact-query';
import { createQueryClient, refresh } from './queries.js';

describe('a refresh of a list that is loaded page by page', () => {
  it('waits until a running read of the next page ends, and then reads all loaded pages again', async () => {
    const client = createQueryClient();
    const reads: string[] = [];
    let answer: (() => void) | undefined;
    const list = {
      queryKey: ['key', '/v1/sends', 'pages', {}],
      queryFn: async ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) => {
        reads.push(pageParam);
        if (pageParam === 'second' && answer === undefined)
          await new Promise<void>((resolve, reject) => {
            answer = resolve;
            signal.addEventListener('abort', () => {
              reject(new Error('cancelled'));
            });
          });
        return { next: pageParam === 'first' ? 'second' : null };
      },
      initialPageParam: 'first',
      getNextPageParam: ({ next }: { next: string | null }) => next ?? undefined,
    };
    await client.infiniteQuery(list);
    const observer = new InfiniteQueryObserver(client, list);
    const unsubscribe = observer.subscribe(() => undefined);
    try {
      const more = observer.fetchNextPage();
      const refreshed = refresh(client, 'key', ['/v1/sends']);
      await Promise.resolve();
      answer?.();
      await Promise.all([more, refreshed]);
      expect(reads).toEqual(['first', 'second', 'first', 'second']);
      expect(observer.getCurrentResult().data?.pages).toHaveLength(2);
    } finally {
      unsubscribe();
      client.clear();
    }
  });
});
