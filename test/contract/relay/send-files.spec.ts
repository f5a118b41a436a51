import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals';
import {
  createLogger,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';
import { BlobStoreUnavailableError, FileBlobStore } from '#blobs';
import {
  FileRemovingRelayStore,
  UnusedFileRemover,
  type SendStatus,
  RedisIdempotencyKeys,
  StoreBackedSendService,
} from '#relay';
import type { TransitionName } from '../../../libs/relay/src/send/send-transitions.js';
import { NO_HINTS } from './with-lane.js';
import { ANY_SERVICE } from '../feed/feed-harness.js';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const ACCOUNT = 'default';
const TWO_DAYS_AGO = new Date(Date.now() - 2 * 86_400_000);

let server: TestRedis;
let redis: RedisClient;
let directory: string;
let blobs: FileBlobStore;
let store: FileRemovingRelayStore;
let intake: StoreBackedSendService;
const logger = createLogger('test', 'silent');

beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
});
afterAll(async () => {
  redis.disconnect();
  await server.dispose();
});
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidings-files-'));
  blobs = new FileBlobStore(directory);
  const prefix = newId('req');
  store = new FileRemovingRelayStore(redis, prefix, clockOfThisMachine, blobs, logger);
  intake = new StoreBackedSendService(store, new RedisIdempotencyKeys(redis, prefix), NO_HINTS, ANY_SERVICE);
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const files = async (): Promise<string[]> => (await readdir(join(directory, ACCOUNT))).sort();
const nameOf = (blobId: string): string => blobId.split('/')[1] ?? '';

async function upload(): Promise<string> {
  return (await blobs.put(ACCOUNT, Readable.from([Buffer.from('x')]), 10)).id;
}

/** Stores a send with a file, and applies these transitions. */
async function sendWith(...transitions: TransitionName[]): Promise<{ id: string; blobId: string }> {
  const blobId = await upload();
  const { id } = await intake.accept(ACCOUNT, {
    phoneNumber: '+14155550101',
    type: 'text',
    file: { blobId, name: 'a', contentType: 'image/png', size: 1, sha256: 'x' },
  });
  for (const transition of transitions) await applyTo(id, transition);
  return { id, blobId };
}

async function applyTo(id: string, transition: TransitionName): Promise<void> {
  const record = await store.find(ACCOUNT, id);
  if (record === undefined) throw new Error(`${id} was not found`);
  const { attempts, refusals } = record.state;
  const done = await store.apply(ACCOUNT, record, { transition, state: { attempts, refusals } });
  if (done === undefined) throw new Error(`${id} had changed`);
}

async function statusOf(id: string): Promise<SendStatus | undefined> {
  return (await intake.find(ACCOUNT, id))?.status;
}

async function makeOld(...names: string[]): Promise<void> {
  for (const name of names) await utimes(join(directory, ACCOUNT, name), TWO_DAYS_AGO, TWO_DAYS_AGO);
}

/** Returns a removal of unused files that starts at a random file each time. */
const removal = (hasForeignProcesses = false): UnusedFileRemover => {
  const foreign = { hasForeignProcesses: () => Promise.resolve(hasForeignProcesses) };
  const randomHex = (): string => randomBytes(16).toString('hex');
  return new UnusedFileRemover(store, blobs, foreign, clockOfThisMachine, logger, randomHex);
};

const KEPT: [SendStatus, TransitionName[]][] = [
  ['queued', []],
  ['relaying', ['fenced']],
  ['unknown', ['fenced', 'ambiguous', 'marked_unknown']],
  ['failed', ['fenced', 'refused']],
  ['queued', ['fenced', 'refused', 'resolved_resend']],
];
const REMOVED: [SendStatus, TransitionName[]][] = [
  ['accepted', ['fenced', 'accepted']],
  ['sent', ['fenced', 'found']],
  ['sent', ['fenced', 'ambiguous', 'marked_unknown', 'found']],
  ['sent', ['fenced', 'ambiguous', 'marked_unknown', 'resolved_sent']],
  ['cancelled', ['cancelled']],
  ['expired', ['expired']],
];

describe('the file of a send', () => {
  it.each(KEPT)('is kept at any age while the send is %s (transitions: %j)', async (status, way) => {
    const { id, blobId } = await sendWith(...way);
    expect(await statusOf(id)).toBe(status);
    await makeOld(nameOf(blobId));
    await removal().removeUnused(ACCOUNT);
    expect(await files()).toEqual([nameOf(blobId)]);
  });

  it('is kept while the send is scheduled', async () => {
    const blobId = await upload();
    await intake.accept(ACCOUNT, {
      phoneNumber: '+14155550101',
      type: 'text',
      file: { blobId, name: 'a', contentType: 'image/png', size: 1, sha256: 'x' },
      sendAt: Date.now() + 60_000,
    });
    await makeOld(nameOf(blobId));
    await removal().removeUnused(ACCOUNT);
    expect(await files()).toEqual([nameOf(blobId)]);
  });

  it.each(REMOVED)('is removed when the send becomes %s (transitions: %j)', async (status, way) => {
    const { id } = await sendWith(...way);
    expect(await statusOf(id)).toBe(status);
    await eventually('the file is removed', async () => (await files()).length === 0);
  });

  it('does not delay the cancellation of the send if the blob store hangs', async () => {
    blobs.remove = () => new Promise(() => undefined);
    const { id } = await sendWith('cancelled');
    expect(await statusOf(id)).toBe('cancelled');
  });

  it('is removed by a later sweep if its removal failed', async () => {
    const remove = blobs.remove.bind(blobs);
    blobs.remove = () => Promise.reject(new BlobStoreUnavailableError('the store is unavailable'));
    const { id, blobId } = await sendWith('fenced', 'accepted');
    expect(await statusOf(id)).toBe('accepted');
    blobs.remove = remove;
    await makeOld(nameOf(blobId));
    await removal().removeUnused(ACCOUNT);
    expect(await files()).toEqual([]);
  });
});

describe('the removal of unused files', () => {
  it('removes old files whose send was never stored, and partial files of old interrupted uploads', async () => {
    const [orphan, kept] = [await upload(), await sendWith()];
    const rest = `${nameOf(await upload())}.part`;
    await writeFile(join(directory, ACCOUNT, rest), 'ha');
    await rm(join(directory, ACCOUNT, rest.replace('.part', '')));
    await makeOld(nameOf(orphan), nameOf(kept.blobId), rest);
    await removal().removeUnused(ACCOUNT);
    expect(await files()).toEqual([nameOf(kept.blobId)]);
  });

  it('keeps all files while a process of another installation uses the blob store', async () => {
    const orphan = nameOf(await upload());
    await makeOld(orphan);
    await removal(true).removeUnused(ACCOUNT);
    expect(await files()).toEqual([orphan]);
    await removal().removeUnused(ACCOUNT);
    expect(await files()).toEqual([]);
  });

  it('keeps recent files, because their sends may be stored soon, and files that are not uploads', async () => {
    const young = nameOf(await upload());
    await writeFile(join(directory, ACCOUNT, 'notes.txt'), 'somebody else');
    await makeOld('notes.txt');
    await removal().removeUnused(ACCOUNT);
    expect(await files()).toEqual([young, 'notes.txt']);
  });

  it('examines all files over several runs, because one run examines only some of them', async () => {
    await upload();
    for (const name of await files()) await rm(join(directory, ACCOUNT, name));
    const names = Array.from({ length: 1_500 }, () => `blb_${randomBytes(16).toString('hex')}`);
    for (const name of names) await writeFile(join(directory, ACCOUNT, name), '');
    await makeOld(...names);
    await removal().removeUnused(ACCOUNT);
    expect(await files()).toHaveLength(500);
    await removal().removeUnused(ACCOUNT);
    expect(await files()).toEqual([]);
  });
});
