import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from '#platform';
import { BlobStoreSharingChecker } from './blob-store-sharing-checker.js';
import { FileBlobStore } from './file-blob-store.js';

let root: string;
let lines: string[];
const logger = createLogger('gateway', 'info', { write: (line) => lines.push(line) });

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidings-sharing-'));
  lines = [];
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const storeIn = (directory: string): FileBlobStore => new FileBlobStore(join(root, directory));
const peer = (
  name: string,
  directory: string,
  others: () => Promise<readonly string[]>,
): BlobStoreSharingChecker => new BlobStoreSharingChecker(storeIn(directory), { name, others }, logger);
const marksIn = (directory: string): Promise<string[]> => readdir(join(root, directory, '.marks'));

it('a gateway and a worker each detect whether they share one blob store', async () => {
  const gateway = peer('gateway', 'a', () => Promise.resolve(['worker']));
  const separateWorker = peer('worker', 'b', () => Promise.resolve(['gateway']));
  await gateway.check();
  await separateWorker.check();
  expect([gateway.peersWithoutMarker, separateWorker.peersWithoutMarker]).toEqual([1, 1]);
  expect(lines.join('')).toContain('set the same BLOB_STORE');
  const sharingWorker = peer('worker', 'a', () => Promise.resolve(['gateway']));
  await sharingWorker.check();
  await gateway.check();
  expect([gateway.peersWithoutMarker, sharingWorker.peersWithoutMarker]).toEqual([0, 0]);
  expect(lines.at(-1)).toContain('use the same blob store again');
});

it('a worker counts the blob store as shared only if its last check found the marker of a running gateway', async () => {
  let gateways: Promise<readonly string[]>[] = [];
  const worker = peer('worker', 'a', () => gateways.shift() ?? Promise.resolve([]));
  const isConfirmedWith = async (...lists: Promise<readonly string[]>[]): Promise<boolean> => {
    gateways = lists;
    await worker.check();
    return worker.isConfirmed;
  };
  const running = Promise.resolve(['gateway']);
  expect(await isConfirmedWith()).toBe(false);
  expect(await isConfirmedWith(running, running)).toBe(false);
  await storeIn('a').writeMarker('gateway');
  expect(await isConfirmedWith(running)).toBe(true);
  expect(await isConfirmedWith(Promise.reject(new Error('Redis is unavailable')))).toBe(false);
  expect(await isConfirmedWith(running)).toBe(true);
  // The gateway has stopped, so its files may be in another blob store.
  expect(await isConfirmedWith()).toBe(false);
});

it('a process that ends removes its marker file, and the check for a shared blob store does not report the process', async () => {
  const worker = peer('worker', 'a', () => Promise.resolve([]));
  await worker.check();
  expect(await marksIn('a')).toEqual(['worker']);
  await worker.removeMarker();
  expect(await marksIn('a')).toEqual([]);
  let asked = 0;
  const gateway = peer('gateway', 'a', () => Promise.resolve((asked += 1) === 1 ? ['worker'] : []));
  await gateway.check();
  expect(gateway.peersWithoutMarker).toBe(0);
});

it('the check for a shared blob store keeps its last result while the list of running processes is not available', async () => {
  let isRedisDown = false;
  const others = (): Promise<string[]> =>
    isRedisDown ? Promise.reject(new Error('Redis is unavailable')) : Promise.resolve(['worker']);
  const gateway = peer('gateway', 'a', others);
  await gateway.check();
  isRedisDown = true;
  await gateway.check();
  expect(gateway.peersWithoutMarker).toBe(1);
});

it('the list of running processes is requested only once while Redis does not answer', async () => {
  jest.useFakeTimers();
  try {
    const blobs = {
      writeMarker: () => Promise.resolve(),
      listMarkers: () => Promise.resolve([]),
      removeMarker: () => Promise.resolve(),
    };
    const others = jest.fn(() => new Promise<never>(() => undefined));
    const gateway = new BlobStoreSharingChecker(blobs, { name: 'gateway', others }, logger);
    for (let checks = 0; checks < 3; checks += 1) {
      const check = gateway.check();
      await jest.advanceTimersByTimeAsync(2_000);
      await check;
    }
    expect(others).toHaveBeenCalledTimes(1);
  } finally {
    jest.useRealTimers();
  }
});

it('no process is reported as using a different blob store if the store has too many marker files for one listing', async () => {
  const store = storeIn('a');
  for (let n = 0; n < 1_000; n += 1) await store.writeMarker(`killed-${n}`);
  const gateway = peer('gateway', 'a', () => Promise.resolve(['worker']));
  await gateway.check();
  expect(gateway.peersWithoutMarker).toBe(0);
});

it('the check for a shared blob store deletes expired marker files, and keeps those that are still renewed', async () => {
  const store = storeIn('a');
  await store.writeMarker('killed');
  await store.writeMarker('alive');
  const longAgo = Date.now() / 1_000 - 3_700;
  await utimes(join(root, 'a', '.marks', 'killed'), longAgo, longAgo);
  await peer('gateway', 'a', () => Promise.resolve([])).check();
  expect((await marksIn('a')).sort()).toEqual(['alive', 'gateway']);
});
