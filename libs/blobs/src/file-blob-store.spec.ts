import { type FileHandle, mkdir, mkdtemp, open, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { BlobStoreUnavailableError } from './blob-store.js';
import { FileBlobStore } from './file-blob-store.js';
import { FileCallLimiter } from './file-call-limiter.js';

/** Number of file system calls with which a small file is stored in a directory that exists. */
const CALLS = 7;
const CALL_MS = 50;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidings-blobs-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** Makes the call with the number `at` fail, or makes this call and all later calls hang. */
class Faulty extends FileCallLimiter {
  private calls = 0;

  constructor(
    private readonly at: number,
    private readonly how: 'fails' | 'hangs',
  ) {
    super({ callMs: CALL_MS, waitMs: CALL_MS });
  }

  override run<T>(call: () => Promise<T>, undo?: (late: T) => Promise<unknown>): Promise<T> {
    this.calls += 1;
    if (this.how === 'hangs' && this.calls >= this.at)
      return super.run(() => new Promise<T>(() => undefined));
    if (this.calls === this.at) return Promise.reject(Object.assign(new Error('i/o error'), { code: 'EIO' }));
    return super.run(call, undo);
  }
}

const put = (calls: FileCallLimiter): Promise<unknown> =>
  new FileBlobStore(directory, calls).put('default', Readable.from([Buffer.from('content')]), 100);

it.each(Array.from({ length: CALLS }, (_, i) => i + 1))(
  'an upload fails with BlobStoreUnavailableError if call %i to the file system fails or hangs',
  async (at) => {
    await put(new FileCallLimiter());
    await expect(put(new Faulty(at, 'fails'))).rejects.toThrow(BlobStoreUnavailableError);
    const files = (await readdir(directory, { recursive: true })).filter((name) => name.includes('blb_'));
    // After the rename, the file is complete. It is then removed later, as a file that no send needs.
    expect(files.filter((name) => name.endsWith('.part'))).toEqual([]);
    await expect(put(new Faulty(at, 'hangs'))).rejects.toThrow(BlobStoreUnavailableError);
  },
);

it.each([1, 2, 3, 4, 5, 6, 7])(
  'a check of the directory removes the file that an earlier check left behind when its file call %i failed, once the file is ten minutes old',
  async (at) => {
    await new FileBlobStore(directory, new Faulty(at, 'fails')).check().catch((error: unknown) => {
      expect(error).toBeInstanceOf(BlobStoreUnavailableError);
    });
    const left = await readdir(directory);
    await new FileBlobStore(directory).check();
    expect(await readdir(directory)).toEqual(left);
    const longAgo = Date.now() / 1_000 - 601;
    for (const name of left) await utimes(join(directory, name), longAgo, longAgo);
    await new FileBlobStore(directory).check();
    expect(await readdir(directory)).toEqual([]);
  },
);

it('a check of a directory without free space fails with the reason of the operating system, and leaves no file', async () => {
  const probe = await open(join(directory, 'any'), 'w');
  const prototype = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  await rm(join(directory, 'any'));
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const write = jest.spyOn(prototype, 'writeFile').mockRejectedValue(full);
  try {
    await expect(new FileBlobStore(directory).check()).rejects.toThrow(/ENOSPC/);
  } finally {
    write.mockRestore();
  }
  expect(await readdir(directory)).toEqual([]);
});

it('a check of the directory succeeds although the file of another check can neither be opened nor removed', async () => {
  await mkdir(join(directory, '.probe'));
  await utimes(join(directory, '.probe'), 0, 0);
  await new FileBlobStore(directory).check();
  expect(await readdir(directory)).toEqual(['.probe']);
});

it('a file is stored if no call to the file system fails', async () => {
  await put(new FileCallLimiter());
  await put(new Faulty(CALLS + 1, 'fails'));
});
