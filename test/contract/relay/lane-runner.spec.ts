import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, rounds, accept, find, relayUntil, failPosts, texts, posts, sendEvents, upload } = relay;

it('the lane runner returns whether the lane had a send to relay', async () => {
  expect(await runner().run(ACCOUNT, NUMBER)).toBe(false);
  await accept({ sendAt: Date.now() + 60_000 });
  expect(await runner().run(ACCOUNT, NUMBER)).toBe(false);
  await accept();
  expect(await runner().run(ACCOUNT, NUMBER)).toBe(true);
});

describe('a send', () => {
  it('is posted once and accepted, and its status then follows the flags of its message', async () => {
    const id = await accept();
    expect(await relayUntil(id, 'accepted')).toMatchObject({
      attempts: [{ outcome: 'accepted', httpStatus: 200 }],
    });
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    const { messageId, contactId } = await find(id);
    expect(relay.harness.simulator.ledger.read({ kinds: ['send.accepted'] }).entries).toMatchObject([
      { messageIds: [messageId], contactId },
    ]);
    relay.harness.control('messages/flags', { id: messageId, delivered: true });
    await relay.harness.sweepUntil('delivered', async () => (await find(id)).status === 'delivered');
    relay.harness.control('messages/flags', { id: messageId, read: true });
    await relay.harness.sweepUntil('read', async () => (await find(id)).status === 'read');
    expect(await sendEvents()).toEqual(['send.accepted', 'send.sent']);
    const reported = (await relay.harness.deliveredEvents()).filter(({ type }) =>
      type.startsWith('message.'),
    );
    expect(reported.map(({ type, data }) => [type, data['sendId']])).toEqual([
      ['message.sent', id],
      ['message.delivered', id],
      ['message.read', id],
    ]);
    expect(texts()).toEqual(['Hi']);
  });

  it('makes only one upstream request besides the regular polls: its POST', async () => {
    const [contactId, other] = [
      relay.harness.createContact(NUMBER),
      relay.harness.createContact('+15559990000'),
    ];
    await relay.harness.sweep();
    const costOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = relay.harness.countRequests(/^/);
      await work();
      return relay.harness.countRequests(/^/) - before;
    };
    const id = await accept();
    expect(await costOf(() => relayUntil(id, 'accepted'))).toBe(1);
    // The poll that binds the send reads no more than a poll that finds the same message of another person.
    relay.harness.createMessages(other, { direction: 'outbound', text: 'Hi' });
    const ordinary = await costOf(() => relay.harness.polls.poll(ACCOUNT, other));
    expect(await costOf(() => relay.harness.polls.poll(ACCOUNT, contactId))).toBe(ordinary);
    expect((await find(id)).status).toBe('sent');
    expect(posts()).toBe(1);
  });

  it('is relayed after all earlier sends of its lane', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push(await accept({ message: `n${i}` }));
    await Promise.all([
      runner().run(ACCOUNT, NUMBER),
      runner().run(ACCOUNT, NUMBER),
      runner().run(ACCOUNT, NUMBER),
    ]);
    await relayUntil(ids[4] ?? '', 'accepted');
    expect(texts()).toEqual(['n0', 'n1', 'n2', 'n3', 'n4']);
  });

  it('is bound to its own message if another send has the same text: the earlier send is bound to the earlier message', async () => {
    const [one, two] = [await accept(), await accept()];
    await relayUntil(two, 'accepted');
    await relay.harness.sweepUntil(
      'both sends are sent',
      async () => (await find(one)).status === 'sent' && (await find(two)).status === 'sent',
    );
    const entries = relay.harness.simulator.ledger.read({ kinds: ['send.accepted'] }).entries;
    expect(entries).toMatchObject([
      { messageIds: [(await find(one)).messageId] },
      { messageIds: [(await find(two)).messageId] },
    ]);
  });

  it('is not bound to an old message with the same text', async () => {
    const contactId = relay.harness.createContact(NUMBER);
    relay.harness.createMessages(contactId, {
      direction: 'outbound',
      text: 'Hi',
      timestamp: Date.now() - 3_600_000,
    });
    relay.harness.control('settings', { sendLostProbability: 1 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    await relay.harness.sweep();
    expect(await find(id)).toMatchObject({ status: 'accepted', messageId: null });
  });

  it.each([600_000, -600_000])(
    'is bound to its message even if the clock of upstream is %d ms off',
    async (clockSkewMs) => {
      relay.harness.control('settings', { clockSkewMs });
      const id = await accept();
      await relayUntil(id, 'accepted');
      await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    },
  );

  it('with only a file is bound to its message even if the message first appears without the attachment', async () => {
    relay.harness.control('settings', { attachmentDelayMs: 1_500 });
    const id = await accept({ file: await upload() });
    await relayUntil(id, 'accepted');
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(await relay.harness.eventTypes()).toContain('message.updated');
  });

  it('is bound to its message even if upstream shows text and file separately and rewrites quotes', async () => {
    relay.harness.control('settings', { splitTextAndFile: true, rewriteQuotes: true });
    const id = await accept({ message: `"Don't" -- Cafe\u0301...`, file: await upload() });
    await relayUntil(id, 'accepted');
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    const { contactId, messageId } = await find(id);
    await expect(
      relay.harness.sends.boundSends(ACCOUNT, contactId ?? '', [messageId ?? '']),
    ).resolves.toEqual(new Map([[messageId, { sendId: id }]]));
  });

  it('is posted with its file, and the file is removed afterwards', async () => {
    const file = await upload();
    const id = await accept({ file });
    await relayUntil(id, 'accepted');
    const [entry] = relay.harness.simulator.ledger.read({ kinds: ['send.accepted'] }).entries;
    expect(entry).toMatchObject({
      parts: expect.arrayContaining([expect.objectContaining({ sha256: file.sha256 })]),
    });
    await eventually('the file is removed', async () => {
      const content = await relay.harness.blobs.open(file.blobId).catch(() => undefined);
      content?.destroy();
      return content === undefined;
    });
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
  });

  it('whose file is missing fails without a POST, and its reason names the missing file', async () => {
    const file = await upload();
    await relay.harness.blobs.remove(file.blobId);
    const id = await accept({ message: 'Hi', file });
    const next = await accept();
    expect((await relayUntil(id, 'failed')).reason).toContain(file.blobId);
    await relayUntil(next, 'accepted');
    expect(texts()).toEqual(['Hi']);
    expect(await sendEvents()).toEqual(['send.failed', 'send.accepted']);
  });

  it('that is not relayed before its expiresAt or within the maximum age expires, and the lane continues', async () => {
    const expiresAt = Date.now() + 1;
    const id = await accept({ message: 'late', expiresAt });
    const next = await accept();
    await eventually('the expiresAt has passed', () => Date.now() > expiresAt + 1);
    expect((await relayUntil(id, 'expired')).reason).toContain('expiresAt');
    await relayUntil(next, 'accepted');
    expect(texts()).toEqual(['Hi']);
    const old = await accept();
    expect((await relayUntil(old, 'expired', runner({ maxAgeMs: 0 }))).reason).toContain(
      'SEND_MAX_AGE_SECONDS',
    );
  });

  it('with a sendAt is moved to its lane at that time, not before', async () => {
    const sendAt = Date.now() + 300;
    const id = await accept({ sendAt });
    const woken: string[] = [];
    const waking = rounds({ jobs: { wake: (_, lanes) => Promise.resolve(void woken.push(...lanes)) } });
    await eventually('the send is queued', async () => {
      await waking.promote(ACCOUNT);
      return (await find(id)).status === 'queued';
    });
    expect(Date.now()).toBeGreaterThanOrEqual(sendAt);
    expect(woken).toEqual([NUMBER]);
    await relayUntil(id, 'accepted');
    await waking.promote(ACCOUNT);
    expect(texts()).toEqual(['Hi']);
  });

  it('whose wake-up job was lost is found by the periodic check', async () => {
    await accept();
    const woken: string[] = [];
    await rounds({ jobs: { wake: (_, lanes) => Promise.resolve(void woken.push(...lanes)) } }).reconcile(
      ACCOUNT,
    );
    expect(woken).toEqual([NUMBER]);
  });

  it('is not missed if very many lanes are due: a periodic check that reaches its limit of lanes reports that more lanes may be due', async () => {
    for (let n = 0; n < 500; n += 1) await accept({ phoneNumber: `+1415${5_550_000 + n}` });
    const waking = rounds({ jobs: { wake: () => Promise.resolve() } });
    expect(await waking.reconcile(ACCOUNT)).toBe(false);
    for (const lane of (await relay.harness.sends.dueLanes(ACCOUNT, 1)).slice(0, 1))
      await runner().run(ACCOUNT, lane);
    expect(await waking.reconcile(ACCOUNT)).toBe(true);
  });
});

describe('retention of sends', () => {
  it('also removes the files of the sends', async () => {
    failPosts({ kind: 'status', status: 400 });
    const file = await upload();
    const id = await accept({ message: 'Hi', file });
    await relayUntil(id, 'failed');
    await rounds().trim(ACCOUNT, { maxAgeMs: -10_000, maxCount: 0 });
    expect(await relay.intake.find(ACCOUNT, id)).toBeUndefined();
    await expect(relay.harness.blobs.open(file.blobId)).rejects.toThrow();
  });

  it('continues after a file could not be removed, and reports the failure', async () => {
    failPosts({ kind: 'status', status: 400 });
    const failed = await accept({ message: 'Hi', file: await upload() });
    await relayUntil(failed, 'failed');
    // Accepted sends without a message are removed in a later batch than sends that ended.
    const accepted = await accept({ phoneNumber: NUMBER });
    await relayUntil(accepted, 'accepted');
    relay.harness.blobs.remove = () => Promise.reject(new Error('the disk is away'));
    await expect(rounds().trim(ACCOUNT, { maxAgeMs: -10_000, maxCount: 0 })).rejects.toThrow(
      'could not remove the file of a removed send',
    );
    expect(await relay.intake.find(ACCOUNT, failed)).toBeUndefined();
    expect(await relay.intake.find(ACCOUNT, accepted)).toBeUndefined();
  });
});

describe('many kinds of faults at once', () => {
  it('cause no duplicate or reordered message, and every send becomes accepted, sent or unknown', async () => {
    const kinds = [
      'timeoutAfter',
      'resetBefore',
      'resetAfter',
      'html',
      { kind: 'statusAfter', status: 500 },
      { kind: 'status', status: 429 },
    ];
    relay.harness.control(
      'faults',
      kinds.map((fault) => ({ match: { method: 'POST' }, fault, probability: 0.15 })),
    );
    const numbers = Array.from({ length: 8 }, (_, i) => `+1555777000${i}`);
    const ids: string[] = [];
    for (const phoneNumber of numbers) {
      for (const n of [1, 2, 3])
        ids.push(await accept({ phoneNumber, type: 'text', message: `${phoneNumber} ${n}` }));
    }
    const lanes = [runner({ confirmMs: 400 }), runner({ confirmMs: 400 })];
    await eventually('every send has a result', async () => {
      await Promise.all(lanes.flatMap((lane) => numbers.map((number) => lane.run(ACCOUNT, number))));
      const states = await Promise.all(ids.map(async (id) => (await find(id)).status));
      return states.every((status) => ['accepted', 'sent', 'unknown'].includes(status));
    });
    expect(new Set(texts()).size).toBe(texts().length);
    for (const number of numbers) {
      const got = texts().filter((one) => one?.startsWith(number));
      expect(got).toEqual([...got].sort());
    }
  });
});
