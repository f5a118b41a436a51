import { describe, expect, it } from '@jest/globals';
import { SendNotResolvableError, type Send } from '#relay';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane();
const { runner, rounds, accept, find, relayUntil, failPosts, texts, posts, sendEvents } = relay;

describe('a send that is resent', () => {
  const resolve = (id: string, outcome: 'resend' | 'sent' | 'failed'): Promise<Send | undefined> =>
    relay.intake.resolve(ACCOUNT, id, outcome);
  const ours = async (): Promise<[unknown, unknown][]> =>
    (await relay.harness.deliveredEvents())
      .filter(({ type }) => type === 'message.sent')
      .map(({ data }) => [data['sendId'], data['duplicate']]);

  it('is looked up first, and is not posted again if its message is found', async () => {
    relay.harness.control('settings', { clock: 'manual', sendVisibleDelayMs: 1_000 });
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    relay.harness.control('advance', { ms: 1_000 });
    expect(await resolve(id, 'resend')).toMatchObject({ status: 'queued' });
    await relayUntil(id, 'sent');
    await eventually(
      'the lane is empty',
      async () => (await relay.harness.sends.laneHead(ACCOUNT, NUMBER)) === undefined,
    );
    expect(texts()).toEqual(['Hi']);
    expect(await sendEvents()).toEqual(['send.unknown', 'send.sent']);
    expect(await relay.harness.sends.sendsAwaitingMessage(ACCOUNT, NUMBER, 10)).toEqual([]);
  });

  it('is looked up first, and is posted after the other sends of its lane if its message is not found', async () => {
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    await relayUntil(id, 'unknown');
    await accept({ message: 'next' });
    await resolve(id, 'resend');
    const send = await relayUntil(id, 'accepted');
    expect(texts()).toEqual(['next', 'Hi']);
    expect(send.attempts.map(({ outcome }) => outcome)).toEqual(['ambiguous', 'accepted']);
  });

  it.each([
    ['no message', 'this build', 0],
    ['a message', 'an earlier build, which never recorded lost POSTs,', 1],
  ])(
    'awaits %s if upstream rejected its only POST and all look-ups that %s began fail',
    async (_, by, awaited) => {
      const { sends } = relay.harness;
      const apply = sends.apply.bind(sends);
      if (by !== 'this build')
        sends.apply = (account, record, change) => {
          const state = { ...change.state };
          delete state.mayHaveLostPost;
          return apply(account, record, { ...change, state });
        };
      failPosts({ kind: 'status', status: 422 });
      const id = await accept();
      await relayUntil(id, 'failed');
      relay.harness.control('faults', {
        match: { method: 'GET' },
        fault: { kind: 'status', status: 404 },
        times: 'always',
      });
      await resolve(id, 'resend');
      await relayUntil(id, 'relaying');
      await relayUntil(id, 'unknown', runner({ maxAgeMs: 1 }));
      expect(await sends.sendsAwaitingMessage(ACCOUNT, NUMBER, 10)).toHaveLength(awaited);
    },
  );

  it('has two messages, one of them marked as a duplicate, if the message of its first POST appears late', async () => {
    relay.harness.control('settings', { clock: 'manual', sendVisibleDelayMs: 1_000 });
    failPosts({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    await resolve(id, 'resend');
    await relayUntil(id, 'accepted');
    // Now both messages appear.
    relay.harness.control('settings', { clock: 'real', sendVisibleDelayMs: 0 });
    // The message of another identical send is not taken for the duplicate.
    const other = await accept();
    await relayUntil(other, 'accepted');
    await relay.harness.sweepUntil('three messages are reported', async () => (await ours()).length === 3);
    expect(texts()).toEqual(['Hi', 'Hi', 'Hi']);
    const reported = await ours();
    expect(reported.filter(([, duplicate]) => duplicate === true)).toEqual([[id, true]]);
    expect(reported.map(([sendId]) => sendId).sort()).toEqual([id, id, other].sort());
    expect((await sendEvents()).filter((type) => type === 'send.sent')).toHaveLength(2);
    const [first, second] = relay.harness.simulator.ledger
      .read({ kinds: ['send.accepted'] })
      .entries.map((entry) => (entry.kind === 'send.accepted' ? entry.messageIds[0] : ''));
    // The duplicate's flags are reported with the send's id, but do not change the send's status.
    const { messageId } = await find(id);
    const duplicate = messageId === first ? second : first;
    relay.harness.control('messages/flags', { id: duplicate, delivered: true });
    await relay.harness.sweepUntil('delivered', async () =>
      (await relay.harness.eventTypes()).includes('message.delivered'),
    );
    const flagged = (await relay.harness.deliveredEvents()).find(({ type }) => type === 'message.delivered');
    expect(flagged?.data).toMatchObject({ sendId: id, duplicate: true });
    expect((await find(id)).status).toBe('sent');
    expect(await relay.harness.sends.sendsAwaitingMessage(ACCOUNT, NUMBER, 10)).toEqual([]);
    await rounds().trim(ACCOUNT, { maxAgeMs: -10_000, maxCount: 0 });
    expect(
      (await relay.harness.redis.keys(`${relay.harness.prefix}:*`)).filter((key) =>
        /claims|awaiting/.test(key),
      ),
    ).toEqual([]);
  });

  it('is posted again if upstream refused the first POST', async () => {
    failPosts({ kind: 'status', status: 400 });
    const id = await accept();
    await relayUntil(id, 'failed');
    await resolve(id, 'resend');
    await relayUntil(id, 'accepted');
    expect(texts()).toEqual(['Hi']);
    expect(await relay.harness.sends.sendsAwaitingMessage(ACCOUNT, NUMBER, 10)).toHaveLength(1);
  });

  it('has a maximum age that counts from the resend, not from the creation of the send', async () => {
    failPosts({ kind: 'resetBefore' });
    const id = await accept();
    const created = Date.now();
    await relayUntil(id, 'unknown');
    await eventually('the send is older than its maximum age', () => Date.now() > created + 2_000);
    await resolve(id, 'resend');
    await relayUntil(id, 'accepted', runner({ maxAgeMs: 2_000 }));
  });

  it('becomes unknown, and is not posted a third time, if the second POST is ambiguous too', async () => {
    failPosts({ kind: 'resetBefore' }, 'always');
    const id = await accept();
    const send = await relayUntil(id, 'unknown', runner({ onUnknown: 'resend', confirmMs: 1 }));
    expect(send.attempts).toHaveLength(2);
    expect(posts()).toBe(2);
    expect(await sendEvents()).toEqual(['send.unknown']);
  });
});

describe('an unknown send', () => {
  it.each(['sent', 'failed'] as const)(
    'that is resolved as %s gets this status with its reason, and keeps both if its message appears later',
    async (outcome) => {
      relay.harness.control('settings', { clock: 'manual', sendVisibleDelayMs: 1_000 });
      failPosts({ kind: 'resetAfter' });
      const id = await accept();
      await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
      const reason = outcome === 'failed' ? 'The send was resolved as failed.' : null;
      expect(await relay.intake.resolve(ACCOUNT, id, outcome)).toMatchObject({
        status: outcome,
        reason,
        messageId: null,
      });
      relay.harness.control('advance', { ms: 1_000 });
      await relay.harness.sweepUntil('the message is bound', async () => (await find(id)).messageId !== null);
      expect(await find(id)).toMatchObject({ status: outcome, reason });
      expect(await sendEvents()).toEqual(['send.unknown', `send.${outcome}`]);
      await expect(relay.intake.resolve(ACCOUNT, id, 'resend')).rejects.toThrow(SendNotResolvableError);
    },
  );

  it('cannot be resent after its expiresAt; unlike an unknown send, a queued send cannot be resolved', async () => {
    failPosts({ kind: 'resetBefore' });
    const expiresAt = Date.now() + 1_500;
    const id = await accept({ expiresAt });
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    await eventually('the expiresAt has passed', () => Date.now() > expiresAt);
    await expect(relay.intake.resolve(ACCOUNT, id, 'resend')).rejects.toThrow(/expiresAt/);
    const queued = await accept();
    for (const outcome of ['resend', 'sent', 'failed'] as const)
      await expect(relay.intake.resolve(ACCOUNT, queued, outcome)).rejects.toThrow(SendNotResolvableError);
    expect(await relay.intake.resolve(ACCOUNT, 'snd_none', 'sent')).toBeUndefined();
  });
});
