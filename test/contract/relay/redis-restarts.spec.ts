import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { accountKeys, createLogger } from '#platform';
import { type LaneRunner, RedisRelayDueTimeReader, SendNotResolvableError } from '#relay';
import { eventually } from '../../support/eventually.js';
import { startTestRedis } from '../../support/redis-server.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, rounds, accept, find, relayUntil, memory, texts, posts, sendEvents } = relay;

/** Ends the look-ups after a restart sooner: no POST of these tests lasts as long as its lease. */
const ENDED_POSTS = { postLeaseMarginMs: 500 };

/** Returns a runner, as in a process of its own, and the number of its warnings about Redis restarts. */
function watchedRunner(): { runner: LaneRunner; warnings: () => number } {
  const lines: string[] = [];
  const logger = createLogger('test', 'warn', { write: (line: string) => lines.push(line) });
  const warnings = (): number =>
    lines.filter((line) => line.includes('Redis restarted or failed over')).length;
  return { runner: runner({ logger, ...ENDED_POSTS }), warnings };
}

/** Reads when the account's sends next need work, as a worker does every minute. */
async function survey(): Promise<void> {
  const { redis, prefix } = relay.harness;
  const retention = { maxAgeMs: 60_000, maxCount: 1_000 };
  await new RedisRelayDueTimeReader(redis, prefix, retention, relay.settings.maxAgeMs).read(ACCOUNT);
}

/** Returns the `sendId` of each event `message.sent`. */
async function sendIdsOfSentMessages(): Promise<unknown[]> {
  const sent = (await relay.harness.deliveredEvents()).filter(({ type }) => type === 'message.sent');
  return sent.map(({ data }) => data['sendId']);
}

/** Stores a send as if Redis' clock were a minute ahead. @param isCompared whether the clock difference is known */
async function acceptBeforeClockWentBack(
  other: { sendAt?: number } = {},
  isCompared = true,
): Promise<string> {
  const { harness } = relay;
  await harness.sweep();
  const facts = accountKeys(harness.prefix, ACCOUNT)('polls', 'facts');
  if (isCompared) await harness.redis.hset(facts, { low: -60_500, high: -59_500 });
  else await harness.redis.del(facts);
  const id = 'snd_1';
  const createdAt = Date.now() + 60_000;
  const send = { ...{ id, createdAt, phoneNumber: NUMBER }, ...({ type: 'text', message: 'Hi' } as const) };
  await harness.sends.insert(ACCOUNT, { ...send, ...other });
  return id;
}

/** Posts a send, loses the record of the POST, and makes the look-ups fail until the send is `unknown`. */
async function becomeUnknownAfterLostPost(id: string): Promise<void> {
  const before = await memory();
  await relayUntil(id, 'accepted');
  await before.restore(relay.redis);
  relay.harness.control('faults', { match: { method: 'GET' }, fault: 'status', times: 'always' });
  await relayUntil(id, 'unknown', runner({ maxAgeMs: 1 }));
  relay.harness.control('faults/clear');
}

describe('a send', () => {
  it('is found upstream and not posted again if Redis lost the record of its POST', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    expect(await find(id)).toMatchObject({ status: 'queued' });
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
  });

  it("is found upstream and not posted again if Redis lost the record of its POST and Redis' clock was set back by a minute", async () => {
    relay.harness.createContact(NUMBER);
    const id = await acceptBeforeClockWentBack();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
  });

  it('becomes unknown, and is not posted again, if a message may belong to the send but the clocks of Redis and upstream were never compared', async () => {
    relay.harness.createContact(NUMBER);
    const id = await acceptBeforeClockWentBack({}, false);
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    const { reason } = await relayUntil(id, 'unknown', runner(ENDED_POSTS));
    expect(reason).toContain('it is not known whether the clock of Redis was set back');
    expect(texts()).toEqual(['Hi']);
  });

  it("that was scheduled is bound to its message if Redis lost the record of the POST and Redis' clock was set back to a time before `sendAt`", async () => {
    const contactId = relay.harness.createContact(NUMBER);
    const id = await acceptBeforeClockWentBack({ sendAt: Date.now() + 60_000 });
    const before = await memory();
    relay.harness.createMessages(contactId, { direction: 'outbound', text: 'Hi' });
    await before.restore(relay.redis);
    await relay.harness.sweepUntil('the message is emitted', async () =>
      (await relay.harness.eventTypes()).includes('message.sent'),
    );
    expect(await sendIdsOfSentMessages()).toEqual([id]);
  });

  it('is bound to its message if Redis lost the record of the POST but a poll finds the message before the next attempt', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    await relay.harness.sweep();
    expect(await find(id)).toMatchObject({ status: 'sent' });
    await runner().run(ACCOUNT, NUMBER);
    expect(texts()).toEqual(['Hi']);
  });

  it('that was scheduled is bound to its message if Redis lost the record of the POST but a poll finds the message before the send is queued again', async () => {
    const sendAt = Date.now() + 2_000;
    const id = await accept({ sendAt });
    const before = await memory();
    await eventually('the send was queued', async () => {
      await rounds().promote(ACCOUNT);
      return (await find(id)).status === 'queued';
    });
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    expect(await find(id)).toMatchObject({ status: 'scheduled' });
    await relay.harness.sweep();
    expect(await find(id)).toMatchObject({ status: 'sent' });
    expect(await sendIdsOfSentMessages()).toEqual([id]);
    expect(await rounds().promote(ACCOUNT)).toBeUndefined();
    await runner().run(ACCOUNT, NUMBER);
    expect(texts()).toEqual(['Hi']);
  });

  it('is not bound to a message that another person wrote if the send is not yet due or was scheduled after the last Redis restart', async () => {
    const contactId = relay.harness.createContact(NUMBER);
    await relay.harness.sweep();
    const later = await accept({ sendAt: Date.now() + 3_600_000 });
    await (await memory()).restore(relay.redis);
    const sendAt = Date.now() + 1_000;
    const due = await accept({ sendAt });
    await eventually('the send is due', async () => (await relay.harness.sends.now(ACCOUNT)) > sendAt);
    relay.harness.createMessages(contactId, { direction: 'outbound', text: 'Hi' });
    await relay.harness.sweepUntil('the message is emitted', async () =>
      (await relay.harness.eventTypes()).includes('message.sent'),
    );
    expect(await find(later)).toMatchObject({ status: 'scheduled' });
    expect(await find(due)).toMatchObject({ status: 'scheduled' });
  });

  it('that was queued before a Redis restart is looked up first, and then posted once', async () => {
    const [one, two] = [await accept({ message: 'n0' }), await accept({ message: 'n1' })];
    await (await memory()).restore(relay.redis);
    await runner(ENDED_POSTS).run(ACCOUNT, NUMBER);
    expect(posts()).toBe(0);
    await relayUntil(one, 'accepted', runner(ENDED_POSTS));
    await relayUntil(two, 'accepted', runner(ENDED_POSTS));
    expect(texts()).toEqual(['n0', 'n1']);
  });

  it('that became unknown after Redis lost the record of its POST is bound to its message when the messages can be read again, and is not posted again', async () => {
    const id = await accept();
    await becomeUnknownAfterLostPost(id);
    await relay.harness.sweep();
    expect(await find(id)).toMatchObject({ status: 'sent' });
    await expect(relay.intake.resolve(ACCOUNT, id, 'resend')).rejects.toThrow(SendNotResolvableError);
    expect(await sendIdsOfSentMessages()).toEqual([id]);
    expect(texts()).toEqual(['Hi']);
  });

  it('that is looked up before a resend is bound to its message if Redis then loses the record of the second POST', async () => {
    relay.failPosts({ kind: 'status', status: 422 });
    const id = await accept();
    await relayUntil(id, 'failed');
    await relay.intake.resolve(ACCOUNT, id, 'resend');
    await relayUntil(id, 'relaying');
    await becomeUnknownAfterLostPost(id);
    await relay.harness.sweep();
    expect(await find(id)).toMatchObject({ status: 'sent' });
    expect(texts()).toEqual(['Hi']);
  });

  it('that is posted again after Redis lost the record of its POST still awaits the message of the lost POST', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    await becomeUnknownAfterLostPost(id);
    await relay.intake.resolve(ACCOUNT, id, 'resend');
    await relayUntil(id, 'accepted');
    const { order, state } = (await relay.harness.sends.find(ACCOUNT, id)) ?? {};
    expect(state).toMatchObject({ copies: 2, firstBegunAt: order?.createdAt });
  });

  it('becomes sent, not expired, if it expires after Redis lost the record of its POST', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    await rounds({ maxAgeMs: 0 }).expire(ACCOUNT);
    expect(await find(id)).toMatchObject({ status: 'queued' });
    await relayUntil(id, 'sent', runner({ maxAgeMs: 0 }));
    expect(texts()).toEqual(['Hi']);
    expect(await sendEvents()).toEqual(['send.sent']);
  });

  it('that was queued before a Redis restart is looked up before it expires, and is not posted', async () => {
    const expiresAt = Date.now() + 2_000;
    const id = await accept({ expiresAt });
    await (await memory()).restore(relay.redis);
    await eventually('the send is too old', async () => (await relay.harness.sends.now(ACCOUNT)) > expiresAt);
    await rounds().expire(ACCOUNT);
    expect(await find(id)).toMatchObject({ status: 'queued' });
    expect(await relayUntil(id, 'expired', runner(ENDED_POSTS))).toMatchObject({
      reason: expect.stringContaining('expiresAt'),
    });
    expect((await find(id)).lookups?.length).toBeGreaterThan(0);
    expect(posts()).toBe(0);
  });

  it('expires at its maximum age even if its lane contains earlier sends from before a Redis restart', async () => {
    for (const message of ['n0', 'n1', 'n2']) await accept({ message });
    await (await memory()).restore(relay.redis);
    const id = await accept({ message: 'n3' });
    const expirable = await relay.harness.sends.expirableSends(ACCOUNT, 0, 1);
    expect(expirable.map(({ record }) => record.order.id)).toEqual([id]);
  });

  it.each([
    ['marks the send and takes a token of the budget in one step', {}],
    [
      'waits for a token of the budget, and then marks the send',
      { fence: () => Promise.resolve({ kind: 'unusual' } as const) },
    ],
  ])(
    'that a worker read before a Redis restart is not posted by that worker after the restart, if the worker %s',
    async (_, replaced) => {
      const { sends } = relay.harness;
      const id = await accept();
      const before = await memory();
      const heads = [await sends.laneHead(ACCOUNT, NUMBER)];
      await relayUntil(id, 'accepted');
      await before.restore(relay.redis);
      const laneHead: typeof sends.laneHead = (...lane) =>
        heads.length > 0 ? Promise.resolve(heads.pop()) : sends.laneHead(...lane);
      await runner({ store: relay.storeWith({ ...replaced, laneHead }) }).run(ACCOUNT, NUMBER);
      expect(heads).toEqual([]);
      expect(posts()).toBe(1);
      await relayUntil(id, 'sent');
      expect(texts()).toEqual(['Hi']);
    },
  );

  it('that a worker read before a Redis restart is not expired by that worker after the restart', async () => {
    const { sends } = relay.harness;
    const id = await accept();
    const before = await memory();
    const stale = await sends.expirableSends(ACCOUNT, 0, 10);
    expect(stale).toHaveLength(1);
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    const store = relay.storeWith({ expirableSends: () => Promise.resolve(stale) });
    await rounds({ maxAgeMs: 0, store }).expire(ACCOUNT);
    expect(await find(id)).toMatchObject({ status: 'queued' });
  });

  it('that was queued before a Redis restart is looked up until a POST from before the restart has ended, even if the confirmation period is shorter', async () => {
    const id = await accept();
    await (await memory()).restore(relay.redis);
    await runner({ confirmMs: 1 }).run(ACCOUNT, NUMBER);
    const { state } = (await relay.harness.sends.find(ACCOUNT, id)) ?? {};
    expect(state).toMatchObject({ phase: 'looking', thenPost: true });
    expect(state?.lookLeftMs).toBeGreaterThan(relay.settings.postTimeoutMs);
  });

  it('that was queued before a Redis restart causes one warning per process and restart, not one per send', async () => {
    const [first, second] = [watchedRunner(), watchedRunner()];
    const ids = [await accept({ message: 'n0' }), await accept({ message: 'n1' })];
    await (await memory()).restore(relay.redis);
    await relayUntil(ids[0] ?? '', 'relaying', first.runner);
    await relayUntil(ids[1] ?? '', 'relaying', second.runner);
    await relayUntil(ids[1] ?? '', 'accepted', first.runner);
    expect([first.warnings(), second.warnings()]).toEqual([1, 1]);
  });

  it('causes a warning about a Redis restart if it is the first send after the restart, even if no lane had a send at the restart', async () => {
    const { runner: one, warnings } = watchedRunner();
    await relayUntil(await accept(), 'accepted', one);
    expect(warnings()).toBe(0);
    let restarts = 0;
    // The survey notices the second restart before a lane runs.
    for (const afterRestart of [() => Promise.resolve(), survey]) {
      await (await memory()).restore(relay.redis);
      restarts += 1;
      await afterRestart();
      await relayUntil(await accept(), 'accepted', one);
      await relayUntil(await accept(), 'accepted', one);
      expect(warnings()).toBe(restarts);
    }
  });

  it('that was scheduled before a Redis restart has a confirmation period that begins at the restart, even if no lane of the account runs before the sendAt', async () => {
    const sendAt = Date.now() + 2_000;
    const id = await accept({ sendAt });
    await (await memory()).restore(relay.redis);
    await survey();
    const surveyedAt = await relay.harness.sends.now(ACCOUNT);
    await eventually('the send was queued', async () => {
      await rounds().promote(ACCOUNT);
      return (await find(id)).status === 'queued';
    });
    const head = await relay.harness.sends.laneHead(ACCOUNT, NUMBER);
    expect(head?.redisRestartedAt).toBeLessThanOrEqual(surveyedAt);
  });

  it('is looked up and not posted again if two failovers lost the record of its POST', async () => {
    const other = await startTestRedis();
    const [one, two] = [new Redis(relay.redis.url), new Redis(other.url)];
    try {
      await one.config('SET', 'repl-diskless-sync-delay', '0');
      await two.config('SET', 'repl-diskless-sync-delay', '0');
      const id = await accept();
      await replicateTo(two, relay.redis.url);
      // The second server becomes the master, and no longer receives the first server's writes.
      await two.replicaof('NO', 'ONE');
      await relayUntil(id, 'accepted');
      await replicateTo(one, other.url);
      await one.replicaof('NO', 'ONE');
      expect(await find(id)).toMatchObject({ status: 'queued' });
      await relayUntil(id, 'sent');
      expect(texts()).toEqual(['Hi']);
      expect(posts()).toBe(1);
    } finally {
      one.disconnect();
      two.disconnect();
      await other.dispose();
    }
  });
});

async function replicateTo(redis: Redis, master: string): Promise<void> {
  const { hostname, port, password } = new URL(master);
  await redis.config('SET', 'masterauth', password);
  await redis.replicaof(hostname, Number(port));
  await eventually('the replica is in sync', async () =>
    (await redis.info('replication')).includes('master_link_status:up'),
  );
}
