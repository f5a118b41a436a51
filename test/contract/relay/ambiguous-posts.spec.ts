import { describe, expect, it } from '@jest/globals';
import type { RelayJobs } from '#relay';
import { eventually } from '../../support/eventually.js';
import { A, UPSTREAM_TIMEOUT_MS } from '../feed/house.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, accept, find, relayUntil, failPosts, texts, posts, sendEvents } = relay;

describe('a send whose POST ended without a clear answer', () => {
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
  ])('but was taken is found, and not posted again: %j', async (fault) => {
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
    'and was not taken is unknown when the time is over, never posted again, and the lane goes on: %j',
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

  it('is not given up for the time in which looks failed: it does not count', async () => {
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    relay.harness.control('faults', { match: { method: 'GET' }, fault: 'status', times: 'always' });
    // Two looks fail within 1.5 s, and the third, the first good one, comes 2 s later.
    const lane = runner({ confirmMs: 2_800 });
    const looked = (times: number): Promise<boolean> =>
      eventually(`looked ${times} times`, async () => {
        await lane.run(A, NUMBER);
        return relay.harness.requests(/^GET /) >= times;
      });
    await looked(2);
    relay.harness.control('faults/clear');
    await looked(3);
    expect((await find(id)).status).toBe('relaying');
    expect(posts()).toBe(1);
  });

  it.each([
    ['when the time that is left is over, if it can be looked for', undefined, 'good', 3_000],
    ['after the growing wait, if it cannot again', { kind: 'status', status: 404 }, 'failed', 15_000],
    ['soon, if it cannot for once', { kind: 'status', status: 404 }, 'good', 500],
  ])('is looked for again %s', async (_, trouble, before, mostMs) => {
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    await runner().run(A, NUMBER);
    const record = await relay.harness.sends.find(A, id);
    if (record === undefined) throw new Error('no send');
    const { lookedAt, ...state } = { ...record.state, lookedAt: await relay.harness.sends.now(A) };
    await relay.harness.sends.apply(A, record, {
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
    await runner({ jobs }).run(A, NUMBER);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeLessThanOrEqual(mostMs);
    expect(waits[0]).toBeGreaterThan(mostMs / 2);
  });

  it('and is found after it was given up is sent after all', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 1_500 });
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(await sendEvents()).toEqual(['send.unknown', 'send.sent']);
    expect(texts()).toEqual(['Hi']);
  });

  it('is posted again when that was asked for', async () => {
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const send = await relayUntil(id, 'accepted', runner({ onUnknown: 'resend', confirmMs: 1 }));
    expect(send.attempts.map(({ outcome }) => outcome)).toEqual(['ambiguous', 'accepted']);
    expect(texts()).toEqual(['Hi']);
    expect(posts()).toBe(2);
    expect((await sendEvents()).filter((type) => type === 'send.unknown')).toEqual([]);
  });

  it('is looked for, and not posted again, when its process died in the middle', async () => {
    const id = await accept();
    const head = await relay.harness.sends.head(A, NUMBER);
    if (head === undefined) throw new Error('no head');
    // What a process leaves that dies after its POST: the state as it was before, its lease running out.
    const begun = await relay.harness.sends.apply(A, head.record, {
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

  it('is unknown, and not posted again, when its process died before the POST', async () => {
    const id = await accept();
    const head = await relay.harness.sends.head(A, NUMBER);
    if (head === undefined) throw new Error('no head');
    await relay.harness.sends.apply(A, head.record, {
      transition: 'fenced',
      state: { ...head.record.state, phase: 'posting', begunAt: head.now, notBefore: head.now + 1 },
    });
    await relayUntil(id, 'unknown');
    expect(posts()).toBe(0);
  });

  it('is lastingFields by its own late answer, though others look for it already', async () => {
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
    const run = slow.run(A, NUMBER);
    await eventually('posting', () => posting);
    const record = await relay.harness.sends.find(A, id);
    if (record === undefined) throw new Error('no send');
    // As another process does once the lease is over.
    await relay.harness.sends.apply(A, record, {
      transition: 'abandoned',
      state: { ...record.state, phase: 'looking', lookLeftMs: 60_000, looks: 0, notBefore: 0 },
    });
    answer();
    await run;
    expect(await find(id)).toMatchObject({ status: 'accepted', attempts: [{ outcome: 'accepted' }] });
    expect(await relay.harness.sends.head(A, NUMBER)).toBeUndefined();
    expect(await sendEvents()).toEqual(['send.accepted']);
  });
});
