import { expect, it } from '@jest/globals';
import { SideBySide } from './side-by-side.js';

const LONG_MS = 60_000;
const never = (): Promise<void> => new Promise(() => undefined);

it('a job runner that runs at most one job per account starts the jobs of further accounts while earlier jobs are slow', async () => {
  const done: string[] = [];
  const work = (account: string): Promise<void> => {
    if (account.startsWith('hangs')) return never();
    done.push(account);
    return Promise.resolve();
  };
  await new SideBySide(1, 2).run(['hangs-1', 'hangs-2', 'hangs-3', 'a', 'b'], work);
  expect(done).toEqual(['a', 'b']);
});

it('a job runner that runs at most one job per account starts no second job of an account while the first job of the account runs', async () => {
  let end = (): void => undefined;
  const started: string[] = [];
  const work = (account: string): Promise<void> => {
    started.push(account);
    return account === 'slow' ? new Promise((resolve) => (end = resolve)) : Promise.resolve();
  };
  const runner = new SideBySide(1);
  await runner.run(['slow', 'a'], work);
  await runner.run(['slow', 'a'], work);
  expect(started).toEqual(['slow', 'a', 'a']);
  end();
  await runner.ended();
  await runner.run(['slow'], work);
  expect(started).toHaveLength(4);
  end();
  await runner.ended();
});

it('a job runner that runs at most one job per account does not exceed its concurrency limit if every job ends quickly', async () => {
  let running = 0;
  let maxRunning = 0;
  const ids = Array.from({ length: 100 }, (_, i) => String(i));
  const results = await new SideBySide<string>(LONG_MS, 7).run(ids, async (account) => {
    running += 1;
    maxRunning = Math.max(maxRunning, running);
    await new Promise(setImmediate);
    running -= 1;
    return account;
  });
  expect(maxRunning).toBe(7);
  expect(results.sort()).toEqual(ids.sort());
});

it('a job runner that runs at most one job per account has ended only when the jobs that waited for a slot have ended', async () => {
  let end = (): void => undefined;
  const first = new Promise<void>((resolve) => (end = resolve));
  let started = 0;
  let ended = 0;
  const runner = new SideBySide(LONG_MS, 2);
  const run = runner.run(['a', 'b', 'c'], async () => {
    started += 1;
    await (started <= 2 ? first : new Promise(setImmediate));
    ended += 1;
  });
  const stopped = runner.ended();
  end();
  await stopped;
  expect(ended).toBe(3);
  await run;
});
