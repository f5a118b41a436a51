import { expect, it } from '@jest/globals';
import { CallBatcher } from './call-batcher.js';

const batchesOf = (maxItems: number): { batches: string[]; calls: CallBatcher<number, number> } => {
  const batches: string[] = [];
  const run = (key: string, items: readonly number[]): Promise<number[]> => {
    batches.push(`${key} ${items.join(' ')}`);
    return items.includes(13)
      ? Promise.reject(new Error('no'))
      : Promise.resolve(items.map((item) => 2 * item));
  };
  return { batches, calls: new CallBatcher(run, maxItems) };
};

it('calls in the same turn of the event loop become one batch for each key, and each call gets its own result', async () => {
  const { batches, calls } = batchesOf(10);
  const results = Promise.all([calls.call('a', 1), calls.call('b', 2), calls.call('a', 3)]);
  expect(await results).toEqual([2, 4, 6]);
  expect(await calls.call('a', 4)).toBe(8);
  expect(batches).toEqual(['a 1 3', 'b 2', 'a 4']);
});

it('a batch never has more than the maximum number of calls', async () => {
  const { batches, calls } = batchesOf(2);
  expect(await Promise.all([1, 2, 3].map((item) => calls.call('a', item)))).toEqual([2, 4, 6]);
  expect(batches).toEqual(['a 1 2', 'a 3']);
});

it('if a batch fails, all of its calls reject, and later calls are not affected', async () => {
  const { calls } = batchesOf(10);
  const outcomes = await Promise.allSettled([calls.call('a', 13), calls.call('a', 1)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await calls.call('a', 1)).toBe(2);
});
