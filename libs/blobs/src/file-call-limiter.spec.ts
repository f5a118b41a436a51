import { expect, it } from '@jest/globals';
import { pause } from '#platform';
import { FileCallLimiter, FileCallTimeoutError } from './file-call-limiter.js';

const never = (): Promise<never> => new Promise(() => undefined);

it('a file system call that does not return in time is rejected', async () => {
  const calls = new FileCallLimiter({ callMs: 50, waitMs: 50 });
  await expect(calls.run(never)).rejects.toThrow(FileCallTimeoutError);
  expect(await calls.run(() => Promise.resolve(1))).toBe(1);
});

it('at most three file system calls run at a time, including calls that have exceeded their time limit', async () => {
  const calls = new FileCallLimiter({ callMs: 50, waitMs: 50 });
  let made = 0;
  const count = (): Promise<never> => {
    made += 1;
    return never();
  };
  const ends = await Promise.allSettled(Array.from({ length: 8 }, () => calls.run(count)));
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
  await expect(calls.run(count)).rejects.toThrow(FileCallTimeoutError);
  expect(made).toBe(3);
});

it('a file system call that waits for its turn is not rejected while the calls before it end one by one, however slowly', async () => {
  const calls = new FileCallLimiter({ callMs: 5_000, waitMs: 100 });
  const slow = (): Promise<void> => pause(80);
  await Promise.all(Array.from({ length: 12 }, () => calls.run(slow)));
});

it('a file whose opening ends only after the time limit is closed', async () => {
  const calls = new FileCallLimiter({ callMs: 20, waitMs: 20 });
  let open: (late: string) => void = () => undefined;
  let close: (late: string) => void = () => undefined;
  const closed = new Promise<string>((resolve) => (close = resolve));
  const opening = calls.run(
    () => new Promise<string>((resolve) => (open = resolve)),
    (late) => {
      close(late);
      return Promise.resolve();
    },
  );
  await expect(opening).rejects.toThrow(FileCallTimeoutError);
  open('a file');
  expect(await closed).toBe('a file');
});

it('a file system call that is postponed while the directory hangs is made as soon as another call ends, and does not throw if it fails', async () => {
  const calls = new FileCallLimiter({ callMs: 20, waitMs: 20 });
  const ends: (() => void)[] = [];
  const hanging = (): Promise<void> => new Promise((end) => ends.push(end));
  await Promise.allSettled([1, 2, 3].map(() => calls.run(hanging)));
  let isMade = false;
  const later = calls.runLater(() => {
    isMade = true;
    return Promise.reject(new Error('EIO'));
  });
  await expect(calls.run(never)).rejects.toThrow(FileCallTimeoutError);
  expect(isMade).toBe(false);
  ends[0]?.();
  await later;
  expect(isMade).toBe(true);
});

it('a waiting file system call begins when another one ends', async () => {
  const calls = new FileCallLimiter({ callMs: 5_000, waitMs: 5_000 });
  const ends: (() => void)[] = [];
  const running = Array.from({ length: 3 }, () =>
    calls.run(() => new Promise<void>((end) => ends.push(end))),
  );
  const waiting = [1, 2].map((n) => calls.run(() => Promise.resolve(n)));
  await Promise.resolve();
  expect(ends).toHaveLength(3);
  ends[1]?.();
  expect(await Promise.all(waiting)).toEqual([1, 2]);
  for (const end of ends) end();
  await Promise.all(running);
  await expect(calls.run(() => Promise.reject(new Error('EIO')))).rejects.toThrow('EIO');
});
