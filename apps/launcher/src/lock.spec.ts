import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
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

function takeFreeLock(): ReturnType<typeof takeLock> & { held: true } {
  const lock = takeLock(path);
  if (!lock.held) throw new Error('the lock was refused');
  return lock;
}

describe('a lock', () => {
  it('has one holder, whose process id and note other processes can read', () => {
    const lock = takeFreeLock();
    lock.annotate({ note: 'http://127.0.0.1:3000' });
    const other = takeLock(path);
    expect(other.held ? undefined : other.holder).toMatchObject({
      pid: process.pid,
      note: 'http://127.0.0.1:3000',
    });
    lock.release();
    expect(holderOf(path)).toBeUndefined();
    takeFreeLock().release();
  });

  it.each([
    ['no longer exists', { pid: 2 ** 30, started: 'x', token: 'x' }],
    ['had the same id before a reboot', { pid: process.pid, started: 'another-boot/1', token: 'x' }],
  ])('can be acquired if the lock file names a process that %s', async (_, former) => {
    await writeFile(path, JSON.stringify(former));
    expect(holderOf(path)).toBeUndefined();
    const lock = takeFreeLock();
    expect(holderOf(path)?.pid).toBe(process.pid);
    lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('can be acquired if the lock file is not valid JSON', async () => {
    await writeFile(path, '{"pid":');
    takeFreeLock().release();
  });

  it('is not released by a former holder after another process has acquired the lock', async () => {
    const lock = takeFreeLock();
    const newHolder = { pid: process.pid, started: '', token: 'another' };
    await writeFile(path, JSON.stringify(newHolder));
    lock.release();
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(newHolder);
  });

  it('can be awaited until its holder releases it', async () => {
    const lock = takeFreeLock();
    const waitedFor: number[] = [];
    const waiting = waitForLock(path, {
      deadlineMs: 5_000,
      onWait: ({ pid }) => {
        waitedFor.push(pid);
        lock.release();
      },
    });
    (await waiting).release();
    expect(waitedFor).toEqual([process.pid]);
  });

  it('is awaited only until the deadline', async () => {
    const lock = takeFreeLock();
    await expect(waitForLock(path, { deadlineMs: 0 })).rejects.toThrow(`Process ${process.pid} has held`);
    lock.release();
  });
});

describe('a lock on a system without /proc, such as macOS', () => {
  const platform = process.platform;
  const { PATH, TZ } = process.env;

  beforeEach(async () => {
    Object.defineProperty(process, 'platform', { value: 'darwin' });
    // Stands in for `ps`, which writes the time in its time zone.
    await writeFile(join(folder, 'ps'), '#!/bin/sh\necho "started at 9 o\'clock, $TZ"\n');
    await chmod(join(folder, 'ps'), 0o755);
    process.env['PATH'] = `${folder}:${PATH ?? ''}`;
  });

  afterEach(() => {
    Object.defineProperty(process, 'platform', { value: platform });
    process.env['PATH'] = PATH;
    if (TZ === undefined) delete process.env['TZ'];
    else process.env['TZ'] = TZ;
  });

  it('counts as held even for a process whose time zone differs from that of the holder', () => {
    process.env['TZ'] = 'America/New_York';
    const lock = takeFreeLock();
    process.env['TZ'] = 'Asia/Tokyo';
    expect(holderOf(path)?.pid).toBe(process.pid);
    expect(takeLock(path).held).toBe(false);
    lock.release();
  });

  it('counts as held if an earlier build stored the start time of the holder in the local time of the current process', async () => {
    process.env['TZ'] = 'Asia/Tokyo';
    const former = { pid: process.pid, started: "started at 9 o'clock, Asia/Tokyo", token: 'x' };
    await writeFile(path, JSON.stringify(former));
    expect(holderOf(path)?.token).toBe('x');
    process.env['TZ'] = 'America/New_York';
    expect(holderOf(path)).toBeUndefined();
  });
});
