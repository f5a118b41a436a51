import { describe, expect, it } from '@jest/globals';
import { accountKeys } from '#platform';
import { RedisRelayDueTimeReader } from '#relay';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { rounds, runner, accept, find, relayUntil, failPosts, sendEvents, texts } = relay;

/** Puts a send with an ambiguous POST at the head of the lane, where it is looked up. */
async function blockingHead(): Promise<string> {
  failPosts({ kind: 'resetBefore' });
  const id = await accept({ message: 'head' });
  await runner().run(ACCOUNT, NUMBER);
  expect((await find(id)).status).toBe('relaying');
  return id;
}

async function endsInMs(maxAgeMs: number): Promise<number | undefined> {
  const { harness } = relay;
  const retention = { maxAgeMs: 60_000, maxCount: 1_000 };
  return (await new RedisRelayDueTimeReader(harness.redis, harness.prefix, retention, maxAgeMs).read(ACCOUNT))
    .expiryInMs;
}

describe('a queued send that waits for the look-up of an earlier send', () => {
  it('expires at its expiresAt, while the other sends stay in the lane', async () => {
    const head = await blockingHead();
    const expiresAt = Date.now() + 2_000;
    const id = await accept({ message: 'expires soon', expiresAt });
    const last = await accept({ message: 'last' });
    await rounds().expire(ACCOUNT);
    expect((await find(id)).status).toBe('queued');
    await eventually('the send has expired', async () => {
      await rounds().expire(ACCOUNT);
      return (await find(id)).status === 'expired';
    });
    expect((await find(id)).reason).toMatch(/expiresAt/);
    expect([(await find(head)).status, (await find(last)).status]).toEqual(['relaying', 'queued']);
    await relayUntil(head, 'unknown');
    await relayUntil(last, 'accepted');
    expect(texts()).toEqual(['last']);
    expect(await sendEvents()).toEqual(['send.expired', 'send.unknown', 'send.accepted']);
  });

  it('expires at its maximum age', async () => {
    const head = await blockingHead();
    const id = await accept({ message: 'second' });
    await eventually('the send has expired', async () => {
      await rounds({ maxAgeMs: 600 }).expire(ACCOUNT);
      return (await find(id)).status === 'expired';
    });
    expect((await find(id)).reason).toMatch(/SEND_MAX_AGE_SECONDS/);
    expect((await find(head)).status).toBe('relaying');
  });

  it('is checked for expiry at its expiresAt or maximum age, whichever comes first; after a cancellation, no check is due', async () => {
    const head = await blockingHead();
    const id = await accept({ message: 'second', expiresAt: Date.now() + 20_000 });
    const dueIn = await endsInMs(3_600_000);
    expect(dueIn).toBeGreaterThan(10_000);
    expect(dueIn).toBeLessThanOrEqual(20_000);
    expect(await endsInMs(5_000)).toBeLessThanOrEqual(5_000);
    await relay.intake.cancel(ACCOUNT, id);
    await relayUntil(head, 'unknown');
    expect(await endsInMs(5_000)).toBeUndefined();
  });
});

describe('a send with an expiresAt', () => {
  it('expires while it waits for a retry after a failed attempt', async () => {
    const id = await accept({ expiresAt: Date.now() + 2_000 });
    failPosts({ kind: 'status', status: 429 }, 'always');
    const lane = runner({ retryScheduleSeconds: [30] });
    await lane.run(ACCOUNT, NUMBER);
    expect((await find(id)).attempts).toHaveLength(1);
    await eventually('the send has expired', async () => {
      await rounds().expire(ACCOUNT);
      return (await find(id)).status === 'expired';
    });
    const expiring = accountKeys(relay.harness.prefix, ACCOUNT)('sends', 'expiring');
    expect(await relay.harness.redis.zcard(expiring)).toBe(0);
  });

  it('becomes unknown instead of expired if upstream may have accepted its POST', async () => {
    const id = await accept({ expiresAt: Date.now() + 2_000 });
    failPosts({ kind: 'resetBefore' });
    // The look-ups last longer than the expiresAt.
    const lane = runner({ confirmMs: 3_000 });
    await eventually('the look-ups have ended', async () => {
      await lane.run(ACCOUNT, NUMBER);
      await rounds().expire(ACCOUNT);
      return (await find(id)).status === 'unknown';
    });
    expect(await sendEvents()).toEqual(['send.unknown']);
  });
});
