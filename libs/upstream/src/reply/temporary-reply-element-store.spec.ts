import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TemporaryReplyElementStore } from './temporary-reply-element-store.js';
import { UpstreamReplyUnreadableError } from '../upstream-error.js';

const MEGABYTE = 1024 * 1024;

let directory: string;
let kept: TemporaryReplyElementStore;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidings-kept-'));
  kept = new TemporaryReplyElementStore(directory);
});
afterEach(async () => {
  await kept.close();
  await rm(directory, { recursive: true, force: true });
});

async function keep(count: number, bytes: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    kept.add({ list: n % 3, position: n, text: Buffer.from(String(n).padStart(bytes, ' ')) });
    await kept.flush();
  }
}

async function read(): Promise<string[]> {
  const texts: string[] = [];
  for await (const batch of kept.read())
    texts.push(...batch.map(({ list, position, text }) => `${list} ${position} ${text.toString().trim()}`));
  return texts;
}
const wanted = (count: number): string[] => Array.from({ length: count }, (_, n) => `${n % 3} ${n} ${n}`);

describe('texts that are stored in memory or in a temporary file', () => {
  it.each([
    [0, 10],
    [10, 10],
    [5_000, 1_024],
    [20_000, 1_000],
    [9, MEGABYTE],
    [5, 2 * MEGABYTE],
  ])('can be read repeatedly, unchanged and in order: %d texts of %d bytes', async (count, bytes) => {
    await keep(count, bytes);
    expect(await read()).toEqual(wanted(count));
    expect(await read()).toEqual(wanted(count));
  });

  it('are, if they are large, in a file that is not listed in its folder, so that a killed process leaves no file behind', async () => {
    await keep(10, MEGABYTE);
    expect(await readdir(directory)).toEqual([]);
    expect(await read()).toHaveLength(10);
  });

  it('cause an error that names the folder if they cannot be stored', async () => {
    await rm(directory, { recursive: true });
    const failed = keep(10, MEGABYTE);
    await expect(failed).rejects.toThrow(UpstreamReplyUnreadableError);
    await expect(failed).rejects.toThrow(directory);
  });
});
