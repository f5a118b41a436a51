import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { FileBlobStore } from './file-blob-store.js';
import { OtherInstallationDetector } from './other-installation-detector.js';

let root: string;
let store: FileBlobStore;
const logger = createLogger('worker', 'silent');

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidings-foreign-'));
  store = new FileBlobStore(root);
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

it('a process is foreign as long as it renews its marker in the blob store and is not known to this installation', async () => {
  const known = ['gateway', 'worker'];
  const check = new OtherInstallationDetector(store, 'worker', () => Promise.resolve(known), logger);
  await store.writeMarker('gateway');
  expect(await check.hasForeignProcesses()).toBe(false);
  await store.writeMarker('stranger');
  expect(await check.hasForeignProcesses()).toBe(true);
  known.push('stranger');
  expect(await check.hasForeignProcesses()).toBe(false);
  known.pop();
  const longAgo = Date.now() / 1_000 - 3_700;
  await utimes(join(root, '.marks', 'stranger'), longAgo, longAgo);
  expect(await check.hasForeignProcesses()).toBe(false);
});

it('a blob store is assumed to have foreign processes if the running processes cannot be listed, or if the store has too many markers for one listing', async () => {
  const failing = (): Promise<never> => Promise.reject(new Error('Redis is unavailable'));
  expect(await new OtherInstallationDetector(store, 'worker', failing, logger).hasForeignProcesses()).toBe(
    true,
  );
  const names = Array.from({ length: 1_000 }, (_, n) => `killed-${n}`);
  for (const name of names) await store.writeMarker(name);
  const all = (): Promise<string[]> => Promise.resolve(names);
  expect(await new OtherInstallationDetector(store, 'worker', all, logger).hasForeignProcesses()).toBe(true);
});
