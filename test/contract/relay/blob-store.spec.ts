import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger, newId, pause } from '#platform';
import {
  BlobMissingError,
  type BlobStore,
  BlobStoreUnavailableError,
  BlobStoreMonitor,
  BlobTooLargeError,
  FileBlobStore,
} from '#blobs';
import { S3BlobStore } from '../../../libs/blobs/src/s3-blob-store.js';
import { startTestS3, type TestS3 } from '../../support/s3-server.js';
import { eventually } from '../../support/eventually.js';

const ACCOUNT = 'default';
const MEGABYTE = 1_048_576;

let s3: TestS3;
let root: string;
const before = { ...process.env };

beforeAll(async () => {
  s3 = await startTestS3();
  Object.assign(process.env, s3.environment);
});
afterAll(async () => {
  process.env = before;
  await s3[Symbol.asyncDispose]();
});
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidings-blobs-'));
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

/** A kind of store: opens an empty store, and a store that is unusable. */
interface Kind {
  open(): BlobStore;
  broken(): Promise<BlobStore>;
}

const KINDS: [string, Kind][] = [
  [
    'a directory',
    {
      open: () => new FileBlobStore(join(root, 'deep', 'blobs')),
      broken: async () => {
        await writeFile(join(root, 'a-file'), '');
        return new FileBlobStore(join(root, 'a-file'));
      },
    },
  ],
  [
    'a bucket of S3',
    {
      open: () => new S3BlobStore({ bucket: s3.bucket, prefix: `test/${newId('req')}`, pathStyle: true }),
      broken: () =>
        Promise.resolve(new S3BlobStore({ bucket: 'no-such-bucket', prefix: '', pathStyle: true })),
    },
  ],
];

const chunked = (content: Buffer, size: number): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(content.length / size) }, (_, i) =>
      content.subarray(i * size, (i + 1) * size),
    ),
    { objectMode: false },
  );

describe('a file stored in a directory', () => {
  it('counts as stored only after the file and then its directory were flushed to disk, so that the file survives a power failure', async () => {
    const handle = await open(root);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const flushed: string[] = [];
    const sync = Reflect.get<FileHandle, 'sync'>(prototype, 'sync');
    jest.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      const found = await this.stat();
      flushed.push(found.isDirectory() ? 'directory' : `${found.size} bytes`);
      await sync.call(this);
    });
    try {
      await new FileBlobStore(root).put(ACCOUNT, Readable.from([Buffer.alloc(10)]), 10);
    } finally {
      jest.restoreAllMocks();
    }
    // First of all, the new directory of the account.
    expect(flushed).toEqual(['directory', '10 bytes', 'directory']);
  });
});

describe.each(KINDS)('a file stored in %s', (_, kind) => {
  let store: BlobStore;
  const ids = async (account = ACCOUNT): Promise<string[]> =>
    (await store.list(account, '', 1_000)).map(({ id }) => id);

  beforeEach(() => {
    store = kind.open();
  });

  it.each([300_000, 5 * MEGABYTE, 5 * MEGABYTE + 1, 11 * MEGABYTE])(
    'of %d bytes is read back unchanged, with its size and digest',
    async (size) => {
      const content = randomBytes(size);
      const blob = await store.put(ACCOUNT, chunked(content, 70_001), content.length);
      expect(blob).toMatchObject({ size, sha256: createHash('sha256').update(content).digest('hex') });
      expect((await buffer(await store.open(blob.id))).equals(content)).toBe(true);
      expect(await ids()).toEqual([blob.id]);
    },
  );

  it('may be empty', async () => {
    const blob = await store.put(ACCOUNT, Readable.from([]), 10);
    expect(blob.size).toBe(0);
    expect((await buffer(await store.open(blob.id))).length).toBe(0);
  });

  it.each([2_999, 12 * MEGABYTE])(
    'that exceeds its limit of %d bytes is refused at once, and no part of the file is kept',
    async (limit) => {
      const endless = new Readable({
        read(): void {
          this.push(Buffer.alloc(100_000));
        },
      });
      await expect(store.put(ACCOUNT, endless, limit)).rejects.toThrow(BlobTooLargeError);
      expect(endless.destroyed).toBe(true);
      expect(await ids()).toEqual([]);
    },
  );

  it('is listed separately from the process markers; each process that uses the store has one marker', async () => {
    const blob = await store.put(ACCOUNT, Readable.from([Buffer.from('x')]), 10);
    await store.writeMarker('gateway.example-req_1');
    await store.writeMarker('worker_2');
    await store.writeMarker('worker_2');
    const markers = await store.listMarkers();
    expect(markers.map(({ id }) => id).sort()).toEqual(['gateway.example-req_1', 'worker_2']);
    expect(Math.abs((markers[0]?.storedAt ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(await ids()).toEqual([blob.id]);
    await store.removeMarker('worker_2');
    await store.removeMarker('worker_2');
    expect((await store.listMarkers()).map(({ id }) => id)).toEqual(['gateway.example-req_1']);
    for (const name of ['../x', 'a/b', '.hidden', ''])
      await expect(store.writeMarker(name)).rejects.toThrow();
  });

  it.each([100_000, 6 * MEGABYTE])(
    'leaves nothing behind if its upload is interrupted after %d bytes',
    async (size) => {
      const upload = new PassThrough();
      const stored = store.put(ACCOUNT, upload, 100 * MEGABYTE);
      upload.write(Buffer.alloc(size));
      upload.destroy(new Error('the caller went away'));
      await expect(stored).rejects.toThrow('the caller went away');
      expect(await ids()).toEqual([]);
    },
  );

  it('is reported as missing after its removal, and the removal of a missing file succeeds', async () => {
    await expect(store.open(`${ACCOUNT}/blb_none`)).rejects.toThrow(BlobMissingError);
    await store.remove(`${ACCOUNT}/blb_none`);
    const blob = await store.put(ACCOUNT, Readable.from([Buffer.from('x')]), 10);
    await store.remove(blob.id);
    await expect(store.open(blob.id)).rejects.toThrow(BlobMissingError);
  });

  it('is listed only for its account, sorted by id, with the time at which the file was stored', async () => {
    expect(await ids()).toEqual([]);
    const stored: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      stored.push((await store.put(ACCOUNT, Readable.from([Buffer.from('x')]), 10)).id);
    }
    const other = await store.put('other', Readable.from([Buffer.from('x')]), 10);
    expect(other.id).toMatch(/^other\/blb_/);
    expect(await ids()).toEqual(stored.sort());
    expect(await ids('other')).toEqual([other.id]);
    const [second] = await store.list(ACCOUNT, stored[0] ?? '', 1);
    expect(second?.id).toBe(stored[1]);
    // S3 reports whole seconds.
    expect(Math.abs(Date.now() - (second?.storedAt ?? 0))).toBeLessThan(5_000);
  });

  it('is refused if the name of its account is not a safe directory name', async () => {
    for (const account of ['..', '.', '', 'a/b', '/etc']) {
      await expect(store.put(account, Readable.from([]), 10)).rejects.toThrow('directory');
    }
  });
});

describe.each(KINDS)('a blob store in %s', (_, kind) => {
  it('passes its check if the store is writable, and the check leaves no file behind', async () => {
    const store = kind.open();
    await store.check();
    expect(await store.list(ACCOUNT, '', 10)).toEqual([]);
  });

  it('rejects every call with BlobStoreUnavailableError if it cannot be used', async () => {
    const store = await kind.broken();
    await expect(store.check()).rejects.toThrow(BlobStoreUnavailableError);
    await expect(store.open(`${ACCOUNT}/blb_x`)).rejects.toThrow(BlobStoreUnavailableError);
    await expect(store.list(ACCOUNT, '', 1)).rejects.toThrow(BlobStoreUnavailableError);
    await expect(store.put(ACCOUNT, Readable.from([Buffer.from('x')]), 10)).rejects.toThrow(
      BlobStoreUnavailableError,
    );
  });
});

describe('a blob store in a directory', () => {
  it('shows a file under its final name only when the file is complete', async () => {
    const directory = join(root, 'blobs');
    const store = new FileBlobStore(directory);
    const upload = new PassThrough();
    const stored = store.put(ACCOUNT, upload, 100);
    upload.write('half');
    await eventually(
      'the upload has started',
      async () => (await readdir(join(directory, ACCOUNT)).catch(() => [])).length > 0,
    );
    expect(await readdir(join(directory, ACCOUNT))).toEqual([expect.stringMatching(/\.part$/)]);
    upload.end();
    const { id } = await stored;
    expect(await readdir(join(directory, ACCOUNT))).toEqual([id.split('/')[1]]);
  });

  it('rejects an upload with BlobStoreUnavailableError if the file is removed during the upload', async () => {
    const store = new FileBlobStore(root);
    const content = new PassThrough();
    content.write('first');
    const putting = expect(store.put(ACCOUNT, content, MEGABYTE)).rejects.toThrow(BlobStoreUnavailableError);
    await eventually(
      'the file is being written',
      async () => (await readdir(join(root, ACCOUNT))).length === 1,
    );
    await rm(join(root, ACCOUNT), { recursive: true });
    content.end('last');
    await putting;
  });
});

describe('a call to an S3 server that does not answer', () => {
  it('fails when its timeout has expired', async () => {
    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    process.env.AWS_ENDPOINT_URL_S3 = `http://127.0.0.1:${port}`;
    const store = new S3BlobStore({ bucket: s3.bucket, prefix: '', pathStyle: true }, 300);
    try {
      const began = performance.now();
      await expect(store.check()).rejects.toThrow('no answer within 300 ms');
      await expect(store.open(`${ACCOUNT}/blb_x`)).rejects.toThrow('no answer within 300 ms');
      await expect(store.remove(`${ACCOUNT}/blb_x`)).rejects.toThrow('no answer within 300 ms');
      await expect(
        store.put(ACCOUNT, Readable.from([Buffer.alloc(6 * MEGABYTE)]), 10 * MEGABYTE),
      ).rejects.toThrow('no answer within 300 ms');
      expect(performance.now() - began).toBeLessThan(5_000);
    } finally {
      Object.assign(process.env, s3.environment);
      store.close();
      silent.close();
    }
  });
});

describe('the periodic check of a blob store', () => {
  it('logs a fault of the store once, and the end of the fault once', async () => {
    const lines: string[] = [];
    const logger = createLogger('test', 'info', { write: (line: string) => lines.push(line) });
    let fault: Error | undefined = new BlobStoreUnavailableError('the disk is read-only');
    let checks = 0;
    const store = new FileBlobStore(join(root, 'blobs'));
    store.check = () => {
      checks += 1;
      return fault === undefined ? Promise.resolve() : Promise.reject(fault);
    };
    const watch = new BlobStoreMonitor(store, logger, undefined, 5);
    await watch.start();
    try {
      expect(watch.fault).toBe('The blob store cannot be used: the disk is read-only');
      await eventually('the store was checked again', () => Promise.resolve(checks > 3));
      expect(lines).toHaveLength(1);
      fault = undefined;
      await eventually('the end of the fault is noticed', () => Promise.resolve(watch.fault === undefined));
      await eventually('the end of the fault is logged', () => Promise.resolve(lines.length === 2));
    } finally {
      await watch.stop();
    }
  });

  it('reports the store as unusable if a call takes too long, and makes only one call at a time', async () => {
    let calls = 0;
    let running = 0;
    let mostRunning = 0;
    const store = {
      check: async () => {
        calls += 1;
        running += 1;
        mostRunning = Math.max(mostRunning, running);
        await pause(calls === 1 ? 100 : 0);
        running -= 1;
      },
    };
    const watch = new BlobStoreMonitor(store, createLogger('test', 'silent'), undefined, 5, 20);
    await watch.start();
    try {
      expect(watch.fault).toBe('checking the blob store took longer than 20 ms');
      await eventually('the end of the fault is noticed', () => Promise.resolve(watch.fault === undefined));
      expect(mostRunning).toBe(1);
    } finally {
      await watch.stop();
    }
  });
});
