import { describe, expect, it } from '@jest/globals';
import { MessageBinder, type RelayStore, type Sightings } from '#relay';
import { eventually } from '../../support/eventually.js';
import { A } from '../feed/house.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane({ confirmMs: 1_200, confirmMediaMs: 1_200, onUnknown: 'resend' });
const { runner, rounds, accept, find, memory, relayUntil, posts } = relay;

/** Another hand writes to the recipient. */
const write = (text: string): object =>
  relay.harness.control('messages', { direction: 'outbound', phoneNumber: NUMBER, text });
const isTold = async (type: string): Promise<boolean> => (await relay.harness.types()).includes(type);
/** Asks for sightings until Redis' clock has gone on by so much. */
async function confirmFor(ms: number): Promise<void> {
  const end = (await relay.harness.sends.now(A)) + ms;
  await eventually('the time is over', async () => {
    await rounds().confirm(A);
    return (await relay.harness.sends.now(A)) > end;
  });
}

describe('the time that a sighting has', () => {
  it('does not run while upstream cannot be looked at', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 3_500 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    relay.harness.control('faults', {
      match: { method: 'GET' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    await confirmFor(3_000);
    expect(await isTold('send.unconfirmed')).toBe(false);
    relay.harness.control('faults/clear');
    await eventually('sent', async () => {
      await rounds().confirm(A);
      return (await find(id)).status === 'sent';
    });
    // The message showed up after more than the time there is, but in less than that of good looks.
    expect(await isTold('send.unconfirmed')).toBe(false);
  });

  it('ends with a look that succeeds, after as much of it as there is', async () => {
    relay.harness.control('settings', { sendLostProbability: 1 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    relay.harness.control('faults', {
      match: { method: 'GET' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    await confirmFor(2_000);
    relay.harness.control('faults/clear');
    const back = await relay.harness.sends.now(A);
    await eventually('told', async () => {
      await rounds().confirm(A);
      return isTold('send.unconfirmed');
    });
    expect((await relay.harness.sends.now(A)) - back).toBeGreaterThanOrEqual(relay.settings.confirmMs);
    expect((await find(id)).status).toBe('accepted');
  });
});

describe('several messages that a send may be', () => {
  it('leave it unknown at once, if nobody knows that upstream took it; it is not posted again', async () => {
    relay.harness.control('faults', { match: { method: 'POST' }, fault: 'timeoutAfter' });
    const id = await accept();
    await runner().run(A, NUMBER);
    write('Hi');
    const next = await accept({ message: 'next' });
    const send = await relayUntil(id, 'unknown');
    expect(send.reason).toContain('several messages');
    expect(await isTold('send.unknown')).toBe(true);
    await relayUntil(next, 'accepted');
    expect(posts()).toBe(2);
  });

  it('keep a send from going out whose POST Redis may have forgotten', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.loseAllSince(relay.redis);
    write('Hi');
    await relayUntil(id, 'unknown');
    expect(posts()).toBe(1);
  });

  it('are told all, and one of them with the send, if upstream took it', async () => {
    const id = await accept();
    await relayUntil(id, 'accepted');
    write('Hi');
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    await relay.harness.sweepUntil('both are told', async () => {
      const types = await relay.harness.types();
      return types.filter((type) => type === 'message.sent').length === 2;
    });
    const told = (await relay.harness.told()).filter(({ type }) => type === 'message.sent');
    expect(told.filter(({ data }) => data['sendId'] === id)).toHaveLength(1);
    expect(posts()).toBe(1);
  });
});

describe('a message that is deleted', () => {
  it('is told with the send that it is, also when its last form is not kept any more', async () => {
    const { harness } = relay;
    const id = await accept();
    await relayUntil(id, 'accepted');
    await harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    const { messageId, contactId } = await find(id);
    await harness.redis.del(`${harness.prefix}:{${A}}:events:index`);
    harness.control('messages/delete', { ids: [messageId] });
    const poller = harness.poller(harness.source, 'silent', { sweepMs: 0, absenceMs: 0 });
    const deleted = await eventually('it is told', async () => {
      await poller.poll(A, contactId ?? '');
      const gone = (await harness.told()).filter(({ type }) => type === 'message.deleted');
      return gone.length > 0 && gone;
    });
    expect(deleted.map(({ data }) => data)).toEqual([
      {
        ...{ contactId, message: { id: messageId }, sendId: id },
        changes: { deleted: { from: false, to: true } },
      },
    ]);
  });
});

describe('two polls that see the message at once', () => {
  it('both know whose it is, whichever of them binds it: only one of them will tell', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    const sightings: Sightings = { account: A, contactId: 'c', fresh: [messageNow('m')], changed: [] };
    const first = new MessageBinder(relay.harness.sends, relay.harness.logger);
    const overtaken = Object.create(relay.harness.sends) as RelayStore;
    overtaken.awaiting = async (...query) => {
      await first.bind(sightings);
      return relay.harness.sends.awaiting(...query);
    };
    const bound = await new MessageBinder(overtaken, relay.harness.logger).bind(sightings);
    expect(bound.get('m')).toEqual({ sendId: id });
    expect(await find(id)).toMatchObject({ status: 'sent', messageId: 'm' });
  });
});

function messageNow(id: string): Sightings['fresh'][number] {
  const form = { direction: 'outbound' as const, to: NUMBER, body: 'Hi', attachments: 0 };
  return { ...form, id, timestamp: Date.now(), delivered: false, read: false, raw: {} };
}
