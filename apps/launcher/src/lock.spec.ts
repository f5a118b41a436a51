import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { holderOf, takeLock, waitForLock } from './lock.mjs';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-lock-'));
  path = join(folder, 'a.lock');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function take(): ReturnType<typeof takeLock> & { held: true } {
  const lock = takeLock(path);
  if (!lock.held) throw new Error('the lock was refused');
  return lock;
}

describe('a lock', () => {
  it('has one holder, whose id and note the others are told', () => {
    const lock = take();
    lock.annotate('http://127.0.0.1:3000');
    const other = takeLock(path);
    expect(other.held ? undefined : other.holder).toMatchObject({
      pid: process.pid,
      note: 'http://127.0.0.1:3000',
    });
    lock.release();
    expect(holderOf(path)).toBeUndefined();
    take().release();
  });

  it.each([
    ['is gone', { pid: 2 ** 30, started: 'x', token: 'x' }],
    ['had the same id before', { pid: process.pid, started: 'another-boot/1', token: 'x' }],
  ])('is taken over from a process that %s', async (_, former) => {
    await writeFile(path, JSON.stringify(former));
    expect(holderOf(path)).toBeUndefined();
    const lock = take();
    expect(holderOf(path)?.pid).toBe(process.pid);
    lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is taken over from a file that is none', async () => {
    await writeFile(path, '{"pid":');
    take().release();
  });

  it('is not released by one who has lost it', async () => {
    const lock = take();
    const thief = { pid: process.pid, started: '', token: 'another' };
    await writeFile(path, JSON.stringify(thief));
    lock.release();
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(thief);
  });

  it('is waited for until its holder lets go', async () => {
    const lock = take();
    const told: number[] = [];
    const waiting = waitForLock(path, {
      deadlineMs: 5_000,
      onWait: ({ pid }) => {
        told.push(pid);
        lock.release();
      },
    });
    (await waiting).release();
    expect(told).toEqual([process.pid]);
  });

  it('is not waited for beyond the deadline', async () => {
    const lock = take();
    await expect(waitForLock(path, { deadlineMs: 0 })).rejects.toThrow(`Process ${process.pid} has held`);
    lock.release();
  });
});
