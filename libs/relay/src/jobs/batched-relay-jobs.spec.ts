import { expect, it } from '@jest/globals';
import { BatchedRelayJobs } from './batched-relay-jobs.js';

/** Records the woken lanes. A write of wake-up jobs ends when the test calls `endWrite`. */
function recorder(): { jobs: BatchedRelayJobs; woken: [string, string[]][]; endWrite: () => Promise<void> } {
  const woken: [string, string[]][] = [];
  let end: () => void = () => undefined;
  const jobs = new BatchedRelayJobs({
    wake: (account, lanes) => {
      woken.push([account, [...lanes]]);
      return new Promise((resolve) => (end = resolve));
    },
  });
  const endWrite = async (): Promise<void> => {
    end();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { jobs, woken, endWrite };
}

it('wake() starts to write the wake-up job of a lane at once, and does not wait until the job is written', async () => {
  const { jobs, woken } = recorder();
  await jobs.wake('a', ['one']);
  expect(woken).toEqual([['a', ['one']]]);
});

it('if lanes are woken during a write of wake-up jobs, the next write contains one job for each of these lanes', async () => {
  const { jobs, woken, endWrite } = recorder();
  await jobs.wake('a', ['one']);
  for (const lane of ['two', 'three', 'two', 'one']) await jobs.wake('a', [lane]);
  expect(woken).toHaveLength(1);
  await endWrite();
  expect(woken.slice(1)).toEqual([['a', ['two', 'three', 'one']]]);
  await endWrite();
  await jobs.wake('a', ['two']);
  expect(woken.at(-1)).toEqual(['a', ['two']]);
});

it('at most 10,000 lanes wait for the write of their wake-up jobs; further lanes get no wake-up job', async () => {
  const { jobs, woken, endWrite } = recorder();
  await jobs.wake('a', ['first']);
  await jobs.wake(
    'a',
    Array.from({ length: 10_005 }, (_, n) => String(n)),
  );
  await endWrite();
  expect(woken.at(-1)?.[1]).toHaveLength(10_000);
});
