import { describe, expect, it, jest } from '@jest/globals';
import type { RelayJobs } from '#relay';
import { UpstreamStatusError } from '#upstream';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT, UPSTREAM_TIMEOUT_MS } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, accept, find, relayUntil, failPosts, texts, posts, sendEvents } = relay;

/** Begins to look up a send, as another process does when the lease of the POST has ended. */
async function abandon(id: string, lookLeftMs = 60_000): Promise<void> {
  const record = await relay.harness.sends.find(ACCOUNT, id);
  if (record === undefined) throw new Error('the send was not found');
  await relay.harness.sends.apply(ACCOUNT, record, {
    transition: 'abandoned',
    state: { ...record.state, phase: 'looking', lookLeftMs, looks: 0, notBefore: 0 },
  });
}

describe('a send whose POST is affected by a fault', () => {
  it.each([
    { kind: 'statusAfter', status: 500 },
    { kind: 'timeoutAfter' },
    { kind: 'resetAfter' },
    { kind: 'html', processed: true },
    { kind: 'emptyObject', processed: true },
    { kind: 'errorBody200', processed: true },
    { kind: 'truncatedJson', cut: 'body' },
    { kind: 'truncatedJson', cut: 'connection' },
    { kind: 'status', status: 302, location: 'http://127.0.0.1:1/', processed: true },
    { kind: 'slow', delayMs: 2 * UPSTREAM_TIMEOUT_MS },
  ])('is found, and not posted again, if upstream accepted the POST (fault: %j)', async (fault) => {
    failPosts(fault);
    const id = await accept();
    const next = await accept({ message: 'next' });
    const send = await relayUntil(id, 'sent');
    expect(send.attempts).toMatchObject([{ outcome: 'ambiguous' }]);
    expect(send.messageId).not.toBeNull();
    await relayUntil(next, 'accepted');
    expect(texts()).toEqual(['Hi', 'next']);
    expect(posts()).toBe(2);
    expect(await sendEvents()).toEqual(['send.sent', 'send.accepted']);
  });

  it.each([
    { kind: 'timeoutBefore' },
    { kind: 'resetBefore' },
    { kind: 'status', status: 503 },
    { kind: 'html' },
  ])(
    'becomes unknown without a second POST if upstream did not accept the POST, and the lane continues (fault: %j)',
    async (fault) => {
      failPosts(fault);
      const id = await accept();
      const next = await accept({ message: 'next' });
      const send = await relayUntil(id, 'unknown');
      expect(send.reason).not.toBeNull();
      await relayUntil(next, 'accepted');
      expect(texts()).toEqual(['next']);
      expect(posts()).toBe(2);
      expect(await sendEvents()).toEqual(['send.unknown', 'send.accepted']);
    },
  );

  it('is looked up again after failed look-ups, which do not shorten the confirmation period of the send', async () => {
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    relay.harness.control('faults', { match: { method: 'GET' }, fault: 'status', times: 'always' });
    // Two look-ups fail within 1.5 s. The third look-up, the first successful one, follows 2 s later.
    const lane = runner({ confirmMs: 2_800 });
    const untilReads = (times: number): Promise<boolean> =>
      eventually(`upstream was read ${times} times`, async () => {
        await lane.run(ACCOUNT, NUMBER);
        return relay.harness.countRequests(/^GET /) >= times;
      });
    await untilReads(2);
    relay.harness.control('faults/clear');
    await untilReads(3);
    expect((await find(id)).status).toBe('relaying');
    expect(posts()).toBe(1);
  });

  it.each([
    ['at the end of its confirmation period, if look-ups succeed', undefined, 'good', 3_000],
    [
      'after the longest wait, if several look-ups in a row failed',
      { kind: 'status', status: 404 },
      'failed',
      15_000,
    ],
    ['soon, if a look-up fails for the first time', { kind: 'status', status: 404 }, 'good', 500],
  ])(
    'is looked up again after a time that depends on the earlier look-ups: %s',
    async (_, trouble, before, maxMs) => {
      failPosts({ kind: 'resetBefore' });
      const id = await accept();
      await runner().run(ACCOUNT, NUMBER);
      const record = await relay.harness.sends.find(ACCOUNT, id);
      if (record === undefined) throw new Error('the send was not found');
      const { lookedAt, ...state } = { ...record.state, lookedAt: await relay.harness.sends.now(ACCOUNT) };
      await relay.harness.sends.apply(ACCOUNT, record, {
        transition: 'search_continued',
        state: {
          ...state,
          looks: 7,
          lookLeftMs: 3_000,
          ...(before === 'failed' ? {} : { lookedAt }),
          notBefore: 0,
        },
        laneDueInMs: 0,
      });
      if (trouble !== undefined)
        relay.harness.control('faults', { match: { method: 'GET' }, fault: trouble, times: 1 });
      const waits: number[] = [];
      const jobs: RelayJobs = {
        wake: (_account, _lanes, delayMs = 0) => {
          waits.push(delayMs);
          return Promise.resolve();
        },
      };
      await runner({ jobs }).run(ACCOUNT, NUMBER);
      expect(waits).toHaveLength(1);
      expect(waits[0]).toBeLessThanOrEqual(maxMs);
      expect(waits[0]).toBeGreaterThan(maxMs / 2);
    },
  );

  it('becomes `sent` if a poll finds its message after the look-ups have ended', async () => {
    relay.harness.control('settings', { clock: 'manual', sendVisibleDelayMs: 1_000 });
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    relay.harness.control('advance', { ms: 1_000 });
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(await sendEvents()).toEqual(['send.unknown', 'send.sent']);
    expect(texts()).toEqual(['Hi']);
  });

  it('is posted again if SEND_ON_UNKNOWN is `resend` and no look-up finds its message', async () => {
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const send = await relayUntil(id, 'accepted', runner({ onUnknown: 'resend', confirmMs: 1 }));
    expect(send.attempts.map(({ outcome }) => outcome)).toEqual(['ambiguous', 'accepted']);
    expect(texts()).toEqual(['Hi']);
    expect(posts()).toBe(2);
    expect((await sendEvents()).filter((type) => type === 'send.unknown')).toEqual([]);
  });

  it('is looked up for its whole confirmation period even if the maximum age of a send is shorter', async () => {
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const began = performance.now();
    const send = await relayUntil(id, 'unknown', runner({ maxAgeMs: 100, confirmMs: 1_000 }));
    expect(performance.now() - began).toBeGreaterThanOrEqual(1_000);
    expect(send.reason).not.toContain('SEND_MAX_AGE_SECONDS');
  });

  it('is not posted again while the contact list cannot be read, because the message may belong to a new contact', async () => {
    relay.harness.createContact(NUMBER);
    await relay.harness.sweep();
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const lane = runner({ onUnknown: 'resend', confirmMs: 1 });
    await lane.run(ACCOUNT, NUMBER);
    relay.harness.control('faults', {
      match: { method: 'GET', path: '/contacts$' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    await eventually('two last look-ups were made', async () => {
      await lane.run(ACCOUNT, NUMBER);
      const { lookups = [] } = await find(id);
      return lookups.filter(({ outcome }) => outcome === 'incomplete').length >= 2;
    });
    expect(posts()).toBe(1);
    relay.harness.control('faults/clear');
    await relayUntil(id, 'accepted', lane);
    expect(posts()).toBe(2);
  });

  it('is looked up, and not posted again, if the worker died after the POST', async () => {
    const id = await accept();
    const head = await relay.harness.sends.laneHead(ACCOUNT, NUMBER);
    if (head === undefined) throw new Error('the lane is empty');
    // The state that a process leaves if it dies after its POST, with the lease about to expire.
    const begun = await relay.harness.sends.apply(ACCOUNT, head.record, {
      transition: 'fenced',
      state: { ...head.record.state, phase: 'posting', begunAt: head.now, notBefore: head.now + 200 },
      laneDueInMs: 200,
    });
    expect(begun).toBeDefined();
    await relay.harness.upstream.send(relay.harness.address, {
      phoneNumber: NUMBER,
      type: 'text',
      message: 'Hi',
    });
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
    expect(posts()).toBe(1);
  });

  it('becomes unknown, and is never posted, if the worker recorded the attempt but died before the POST', async () => {
    const id = await accept();
    const head = await relay.harness.sends.laneHead(ACCOUNT, NUMBER);
    if (head === undefined) throw new Error('the lane is empty');
    await relay.harness.sends.apply(ACCOUNT, head.record, {
      transition: 'fenced',
      state: { ...head.record.state, phase: 'posting', begunAt: head.now, notBefore: head.now + 1 },
    });
    await relayUntil(id, 'unknown');
    expect(posts()).toBe(0);
  });

  it.each(['fence', 'apply'] as const)(
    'is posted once if Redis marks the send as being posted, but the answer of Redis is lost (operation of the store: %s)',
    async (operation) => {
      const { sends } = relay.harness;
      const id = await accept();
      let lost = 0;
      const losingAnswer = async <T>(answer: Promise<T>): Promise<T> => {
        const result = await answer;
        lost += 1;
        if (lost === 1) throw new Error('no Redis');
        return result;
      };
      const store = Object.assign(Object.create(sends) as typeof sends, {
        fence: (...args: Parameters<typeof sends.fence>) =>
          operation === 'fence'
            ? losingAnswer(sends.fence(...args))
            : Promise.resolve({ kind: 'unusual' } as const),
        apply: (...args: Parameters<typeof sends.apply>) =>
          args[2].transition === 'fenced' ? losingAnswer(sends.apply(...args)) : sends.apply(...args),
      });
      await runner({ store }).run(ACCOUNT, NUMBER);
      expect(lost).toBe(2);
      expect(await find(id)).toMatchObject({ status: 'accepted', attempts: [{ outcome: 'accepted' }] });
      expect(posts()).toBe(1);
    },
  );

  it('is not queued again by a process that failed to mark the send, if another process has marked the send', async () => {
    const { sends } = relay.harness;
    const id = await accept();
    const store = Object.assign(Object.create(sends) as typeof sends, {
      fence: async (...[account, record, fence]: Parameters<typeof sends.fence>) => {
        await sends.fence(account, record, { ...fence, name: 'of another process' });
        throw new Error('no Redis');
      },
    });
    await expect(runner({ store }).run(ACCOUNT, NUMBER)).rejects.toThrow('no Redis');
    expect((await find(id)).status).toBe('relaying');
    expect(posts()).toBe(0);
  });

  it('gets its status from a late answer to its POST, even if another process already looks up the send', async () => {
    relay.harness.control('settings', { sendLostProbability: 1 });
    const id = await accept();
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    let posting = false;
    const slow = runner({
      post: async (_, send) => {
        posting = true;
        await relay.harness.upstream.send(relay.harness.address, send);
        await held;
      },
    });
    const run = slow.run(ACCOUNT, NUMBER);
    await eventually('the POST has started', () => posting);
    await abandon(id);
    answer();
    await run;
    expect(await find(id)).toMatchObject({ status: 'accepted', attempts: [{ outcome: 'accepted' }] });
    expect(await relay.harness.sends.laneHead(ACCOUNT, NUMBER)).toBeUndefined();
    expect(await sendEvents()).toEqual(['send.accepted']);
  });

  it('is still looked up if a late answer refuses an earlier POST, because upstream may have accepted the later POST', async () => {
    const id = await accept();
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    let posting = false;
    const slow = runner({
      post: async () => {
        posting = true;
        await held;
        throw new UpstreamStatusError(422, '', undefined);
      },
    });
    const run = slow.run(ACCOUNT, NUMBER);
    await eventually('the first POST has started', () => posting);
    await abandon(id, 0);
    failPosts({ kind: 'resetBefore' });
    const other = runner({ onUnknown: 'resend', confirmMs: 60_000 });
    await eventually('the second POST is looked up', async () => {
      await other.run(ACCOUNT, NUMBER);
      return posts() === 1 && (await find(id)).attempts.length === 1;
    });
    answer();
    await run;
    const { status, attempts } = await find(id);
    expect(status).toBe('relaying');
    // In the order in which they began.
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['refused', 'ambiguous']);
  });

  it('keeps the known outcome of the POST even if Redis fails until other processes may look up the send', async () => {
    const { sends } = relay.harness;
    const id = await accept();
    const now = performance.now.bind(performance);
    let passedMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
    let failures = 3;
    const store = Object.assign(Object.create(sends) as typeof sends, {
      apply: async (...args: Parameters<typeof sends.apply>) => {
        if (args[2].transition !== 'refused' || failures === 0) return sends.apply(...args);
        failures -= 1;
        if (failures === 2) {
          passedMs = 30_000;
          await abandon(id);
        }
        throw new Error('no Redis');
      },
    });
    failPosts({ kind: 'status', status: 422 });
    await runner({ store, confirmMs: 120_000 }).run(ACCOUNT, NUMBER);
    clock.mockRestore();
    expect(failures).toBe(0);
    expect(await find(id)).toMatchObject({ status: 'failed', attempts: [{ outcome: 'refused' }] });
  });

  it('keeps the known outcome of the POST if Redis fails after the POST: the outcome is stored as soon as Redis answers', async () => {
    const { sends } = relay.harness;
    const id = await accept();
    let failures = 3;
    const store = Object.assign(Object.create(sends) as typeof sends, {
      apply: (...args: Parameters<typeof sends.apply>) => {
        if (args[2].transition === 'accepted' && failures > 0) {
          failures -= 1;
          return Promise.reject(new Error('no Redis'));
        }
        return sends.apply(...args);
      },
    });
    await runner({ store }).run(ACCOUNT, NUMBER);
    expect(failures).toBe(0);
    expect(await find(id)).toMatchObject({ status: 'accepted', attempts: [{ outcome: 'accepted' }] });
    expect(posts()).toBe(1);
    expect(await sendEvents()).toEqual(['send.accepted']);
  });
});
