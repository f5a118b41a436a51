import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BlobMissingError, BlobTooLargeError } from './blob-store.js';
import { FileBlobStore } from './file-blob-store.js';

let root: string;
let directory: string;
let store: FileBlobStore;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidings-blobs-'));
  directory = join(root, 'deep', 'blobs');
  store = new FileBlobStore(directory);
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const chunked = (content: Buffer, size: number): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(content.length / size) }, (_, i) =>
      content.subarray(i * size, (i + 1) * size),
    ),
    { objectMode: false },
  );

describe('a stored file', () => {
  it('is read back as it came, with its size and digest', async () => {
    const content = randomBytes(300_000);
    const blob = await store.put(chunked(content, 7_000), content.length);
    expect(blob).toMatchObject({
      size: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    });
    expect((await buffer(await store.open(blob.id))).equals(content)).toBe(true);
    expect(await readdir(directory)).toEqual([blob.id]);
  });

  it('may be empty', async () => {
    const blob = await store.put(Readable.from([]), 10);
    expect(blob.size).toBe(0);
    expect((await buffer(await store.open(blob.id))).length).toBe(0);
  });

  it('of one byte more than allowed is refused at once, and leaves nothing', async () => {
    const endless = new Readable({
      read(): void {
        this.push(Buffer.alloc(1_000));
      },
    });
    await expect(store.put(endless, 2_999)).rejects.toThrow(BlobTooLargeError);
    expect(endless.destroyed).toBe(true);
    expect(await readdir(directory)).toEqual([]);
  });

  it('whose upload breaks off leaves nothing', async () => {
    const upload = new PassThrough();
    const stored = store.put(upload, 1_000_000);
    upload.write(Buffer.alloc(100_000));
    upload.destroy(new Error('the caller went away'));
    await expect(stored).rejects.toThrow('the caller went away');
    expect(await readdir(directory)).toEqual([]);
  });

  it('that is not there says so, and may be removed all the same', async () => {
    await expect(store.open('blb_none')).rejects.toThrow(BlobMissingError);
    await store.remove('blb_none');
    const blob = await store.put(Readable.from([Buffer.from('x')]), 10);
    await store.remove(blob.id);
    await expect(store.open(blob.id)).rejects.toThrow(BlobMissingError);
  });
});
