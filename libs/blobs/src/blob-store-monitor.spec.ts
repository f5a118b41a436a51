import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from '#platform';
import { BlobStoreMonitor } from './blob-store-monitor.js';
import { type BlobStore, BlobStoreUnavailableError } from './blob-store.js';

const FULL_MS = 300_000;

let lines: string[];
let monitor: BlobStoreMonitor;
beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  const logger = createLogger('gateway', 'info', { write: (line: string) => lines.push(line) });
  monitor = new BlobStoreMonitor({ check: () => Promise.resolve() }, logger);
});
afterEach(async () => {
  await monitor.stop();
  jest.useRealTimers();
});

/** Uploads a file to a store that fails with an error of the operating system. */
async function uploadThatFailsWith(code: string): Promise<void> {
  const cause = Object.assign(new Error(`${code}: a fault, write`), { code });
  const error = new BlobStoreUnavailableError(cause.message, { cause });
  const store: Pick<BlobStore, 'put'> = { put: () => Promise.reject(error) };
  const upload = monitor.observeUploads(store as BlobStore).put('default', Readable.from([]), 10);
  await expect(upload).rejects.toBe(error);
}

it.each(['ENOSPC', 'EDQUOT'])(
  'an upload that fails with %s makes the store unusable for five minutes, although checks succeed',
  async (code) => {
    await monitor.start();
    await uploadThatFailsWith(code);
    await uploadThatFailsWith(code);
    expect(monitor.fault).toContain(code);
    expect(lines).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(FULL_MS - 1_000);
    expect(monitor.fault).toContain(code);
    await jest.advanceTimersByTimeAsync(61_000);
    expect(monitor.fault).toBeUndefined();
    expect(lines).toHaveLength(2);
  },
);

it('a later upload that fails for lack of space restarts the five minutes in which the store counts as unusable', async () => {
  await monitor.start();
  await uploadThatFailsWith('ENOSPC');
  await jest.advanceTimersByTimeAsync(FULL_MS - 1_000);
  await uploadThatFailsWith('ENOSPC');
  await jest.advanceTimersByTimeAsync(FULL_MS - 1_000);
  expect(monitor.fault).toContain('ENOSPC');
});

it('an upload that fails for a reason other than lack of space does not make the store unusable', async () => {
  await monitor.start();
  await uploadThatFailsWith('ENOENT');
  expect(monitor.fault).toBeUndefined();
});
