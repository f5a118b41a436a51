import { describe, expect, it } from '@jest/globals';
import { BlobStoreUnavailableError } from '#blobs';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, accept, find, relayUntil, failPosts, texts, posts, sendEvents, upload } = relay;

describe('a send that upstream certainly did not accept', () => {
  it('is retried on the schedule until upstream accepts the send', async () => {
    failPosts({ kind: 'status', status: 429 }, 3);
    const id = await accept();
    const send = await relayUntil(id, 'accepted');
    expect(send.attempts.map(({ outcome, httpStatus }) => `${outcome} ${httpStatus ?? ''}`)).toEqual([
      'not_taken 429',
      'not_taken 429',
      'not_taken 429',
      'accepted 200',
    ]);
    expect(texts()).toEqual(['Hi']);
  });

  it('is not retried before the time that upstream requested', async () => {
    failPosts({ kind: 'status', status: 429, retryAfter: 1 });
    const began = Date.now();
    const id = await accept();
    await relayUntil(id, 'accepted');
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_000);
    expect(posts()).toBe(2);
  });

  it('stays queued while upstream is unreachable, and is posted when upstream recovers', async () => {
    const id = await accept();
    const real = relay.harness.address.baseUrl;
    relay.harness.address.baseUrl = 'http://127.0.0.1:1/v1';
    const lane = runner();
    await eventually('two attempts were made', async () => {
      await lane.run(ACCOUNT, NUMBER);
      return (await find(id)).attempts.length >= 2;
    });
    expect(await find(id)).toMatchObject({ status: 'queued', attempts: [{ outcome: 'not_taken' }, {}] });
    relay.harness.address.baseUrl = real;
    await relayUntil(id, 'accepted', lane);
    expect(texts()).toEqual(['Hi']);
  });

  it('delays only its own lane', async () => {
    failPosts({ kind: 'status', status: 429, retryAfter: 60 });
    const id = await accept();
    await runner().run(ACCOUNT, NUMBER);
    const other = await accept({ phoneNumber: '+15550000009' });
    await runner().run(ACCOUNT, '+15550000009');
    expect((await find(other)).status).toBe('accepted');
    expect((await find(id)).status).toBe('queued');
  });
});

describe('a send whose file temporarily cannot be read', () => {
  it('waits until the blob store works again, and is then posted', async () => {
    const file = await upload();
    const id = await accept({ message: 'Hi', file });
    const open = relay.harness.blobs.open.bind(relay.harness.blobs);
    relay.harness.blobs.open = () =>
      Promise.reject(new BlobStoreUnavailableError('the bucket is being moved'));
    await eventually('a retry was made', async () => {
      await runner().run(ACCOUNT, NUMBER);
      return (await find(id)).attempts.length > 1;
    });
    expect(await find(id)).toMatchObject({
      status: 'queued',
      attempts: expect.arrayContaining([
        expect.objectContaining({
          outcome: 'not_taken',
          error: 'The blob store cannot be used: the bucket is being moved',
        }),
      ]),
    });
    expect(posts()).toBe(0);
    relay.harness.blobs.open = open;
    await relayUntil(id, 'accepted');
    expect(texts()).toEqual(['Hi']);
  });
});

describe('a send whose file takes too long to open', () => {
  it('has a failed attempt after two seconds, and is retried later', async () => {
    const id = await accept({ message: 'Hi', file: await upload() });
    const open = relay.harness.blobs.open.bind(relay.harness.blobs);
    relay.harness.blobs.open = () => new Promise(() => undefined);
    const began = performance.now();
    await runner().run(ACCOUNT, NUMBER);
    relay.harness.blobs.open = open;
    expect(performance.now() - began).toBeLessThan(4_000);
    expect((await find(id)).attempts[0]).toMatchObject({
      outcome: 'not_taken',
      error: 'The blob store cannot be used: opening the file took too long',
    });
    await relayUntil(id, 'accepted');
    expect(texts()).toEqual(['Hi']);
  });
});

describe('a send that upstream refuses', () => {
  it.each([400, 403, 404, 413, 415, 422])(
    'with status %d fails with upstream’s error message, and the lane continues',
    async (status) => {
      failPosts({ kind: 'status', status, body: { message: 'not this one' } });
      const file = await upload();
      const [id, next] = [await accept({ message: 'refused', file }), await accept()];
      expect(await relayUntil(id, 'failed')).toMatchObject({
        reason: `upstream answered ${status}: not this one`,
        attempts: [{ outcome: 'refused', httpStatus: status }],
      });
      await relayUntil(next, 'accepted');
      expect(texts()).toEqual(['Hi']);
      expect(await sendEvents()).toEqual(['send.failed', 'send.accepted']);
      (await relay.harness.blobs.open(file.blobId)).destroy();
    },
  );
});
