import { describe, expect, it, jest } from '@jest/globals';
import { MessageBinder, type RelayStore, type Sightings } from '#relay';
import { eventually } from '../../support/eventually.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { NUMBER, WithLane } from './with-lane.js';

const relay = new WithLane({ confirmMs: 1_200, confirmMediaMs: 1_200, onUnknown: 'resend' });
const { runner, rounds, accept, find, memory, relayUntil, posts } = relay;

/** Another person writes to the recipient. */
const write = (text: string): object =>
  relay.harness.control('messages', { direction: 'outbound', phoneNumber: NUMBER, text });
const isEmitted = async (type: string): Promise<boolean> => (await relay.harness.eventTypes()).includes(type);
/** Runs confirmation rounds for this time, in milliseconds of Redis' clock. */
async function confirmFor(ms: number): Promise<void> {
  const end = (await relay.harness.sends.now(ACCOUNT)) + ms;
  await eventually('the time has passed', async () => {
    await rounds().confirm(ACCOUNT);
    return (await relay.harness.sends.now(ACCOUNT)) > end;
  });
}

describe('the confirmation period of an accepted send', () => {
  it('does not count down while upstream cannot be read', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 3_500 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    relay.harness.control('faults', {
      match: { method: 'GET' },
      fault: { kind: 'status', status: 500 },
      times: 'always',
    });
    await confirmFor(3_000);
    expect(await isEmitted('send.unconfirmed')).toBe(false);
    relay.harness.control('faults/clear');
    await eventually('the send is sent', async () => {
      await rounds().confirm(ACCOUNT);
      return (await find(id)).status === 'sent';
    });
    // The message appeared after the period, but the successful look-ups took less than the period.
    expect(await isEmitted('send.unconfirmed')).toBe(false);
  });

  it('is not shortened by failed look-ups', async () => {
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
    const back = await relay.harness.sends.now(ACCOUNT);
    await eventually('the event was emitted', async () => {
      await rounds().confirm(ACCOUNT);
      return isEmitted('send.unconfirmed');
    });
    expect((await relay.harness.sends.now(ACCOUNT)) - back).toBeGreaterThanOrEqual(relay.settings.confirmMs);
    expect((await find(id)).status).toBe('accepted');
  });
});

describe('several messages that may belong to one send', () => {
  it('make the send `unknown` at once, without a second POST, if the outcome of the first POST was ambiguous', async () => {
    relay.harness.control('faults', { match: { method: 'POST' }, fault: 'timeoutAfter' });
    const id = await accept();
    await runner().run(ACCOUNT, NUMBER);
    write('Hi');
    const next = await accept({ message: 'next' });
    const send = await relayUntil(id, 'unknown');
    expect(send.reason).toContain('several messages');
    expect(await isEmitted('send.unknown')).toBe(true);
    await relayUntil(next, 'accepted');
    expect(posts()).toBe(2);
  });

  it('leave the send unknown when one of them changes later', async () => {
    relay.harness.control('faults', { match: { method: 'POST' }, fault: 'timeoutAfter' });
    const id = await accept();
    await runner().run(ACCOUNT, NUMBER);
    write('Hi');
    const { lookups = [] } = await relayUntil(id, 'unknown');
    const messageId = lookups.at(-1)?.candidates[0]?.messageId ?? 'none';
    await relay.harness.sweepUntil('both are reported', async () => {
      const types = await relay.harness.eventTypes();
      return types.filter((type) => type === 'message.sent').length === 2;
    });
    relay.harness.control('messages/flags', { id: messageId, delivered: true });
    await relay.harness.sweepUntil('the change is reported', () => isEmitted('message.delivered'));
    expect((await find(id)).status).toBe('unknown');
  });

  it('prevent a second POST of the send if Redis may have lost the record of the first POST', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.restore(relay.redis);
    write('Hi');
    await relayUntil(id, 'unknown');
    expect(posts()).toBe(1);
  });

  it('all cause message.sent, which has the id of the send for only one of them, if upstream accepted the send', async () => {
    const id = await accept();
    await relayUntil(id, 'accepted');
    write('Hi');
    await relay.harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    await relay.harness.sweepUntil('both messages are reported', async () => {
      const types = await relay.harness.eventTypes();
      return types.filter((type) => type === 'message.sent').length === 2;
    });
    const reported = (await relay.harness.deliveredEvents()).filter(({ type }) => type === 'message.sent');
    expect(reported.filter(({ data }) => data['sendId'] === id)).toHaveLength(1);
    expect(posts()).toBe(1);
  });
});

describe('a message that another person wrote before a send with the same text', () => {
  it.each<[change: string, path: string, fields: object, event: string]>([
    ['the message is delivered later', 'messages/flags', { delivered: true }, 'message.delivered'],
    ['its service changes', 'messages/edit', { service: 'SMS' }, 'message.updated'],
    ['its timestamp changes', 'messages/edit', { timestamp: new Date().toISOString() }, 'message.updated'],
  ])('is not bound to the send when %s', async (_, path, fields, event) => {
    const { harness } = relay;
    write('Hi');
    await harness.sweepUntil('the message is reported', () => isEmitted('message.sent'));
    const [other] = (await harness.deliveredEvents()).filter(({ type }) => type === 'message.sent');
    const { id: messageId } = other?.data['message'] as { id: string };
    harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    harness.control(path, { id: messageId, ...fields });
    await harness.sweepUntil('the change is reported', () => isEmitted(event));
    expect(await find(id)).toMatchObject({ status: 'accepted', messageId: null });
  });
});

describe('a message that another person wrote 12 s before a send with the same text', () => {
  it('is not bound to the send even if the poll that finds the message continues for 5 s after its first page', async () => {
    const { harness } = relay;
    const contactId = harness.createContact(NUMBER);
    const startedAt = Date.now();
    const ago = (ms: number): number => startedAt - ms;
    harness.createMessages(contactId, { count: 5, timestamp: ago(60_000), intervalMs: 10 });
    for (let reads = 0; reads < 3; reads += 1) await harness.sweep();
    harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    const outbound = { direction: 'outbound' };
    harness.createMessages(contactId, { ...outbound, text: 'Hi', timestamp: ago(12_500) });
    harness.createMessages(contactId, { ...outbound, text: 'Other', count: 30, timestamp: ago(10_000) });
    const steady = performance.now.bind(performance);
    let passedMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => steady() + passedMs);
    const { source } = harness;
    let pages = 0;
    const slow: typeof source = {
      ...source,
      listMessages: (...request) => {
        pages += 1;
        if (pages === 2) passedMs = 5_000;
        return source.listMessages(...request);
      },
    };
    try {
      await harness.poller(slow).pollHead(ACCOUNT, contactId);
    } finally {
      clock.mockRestore();
    }
    expect(pages).toBeGreaterThan(1);
    expect(await isEmitted('message.sent')).toBe(true);
    expect(await find(id)).toMatchObject({ status: 'accepted', messageId: null });
  });
});

describe('a deleted message of a send', () => {
  it('causes a message.deleted event with the id of the send, even if the last content of the message is no longer stored', async () => {
    const { harness } = relay;
    const id = await accept();
    await relayUntil(id, 'accepted');
    await harness.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    const { messageId, contactId } = await find(id);
    await harness.redis.del(`${harness.prefix}:{${ACCOUNT}}:events:index`);
    harness.control('messages/delete', { ids: [messageId] });
    const poller = harness.poller(harness.source, 'silent', { sweepMs: 0, absenceMs: 0 });
    const deleted = await eventually('the event was emitted', async () => {
      await poller.poll(ACCOUNT, contactId ?? '');
      const gone = (await harness.deliveredEvents()).filter(({ type }) => type === 'message.deleted');
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

describe('the events of a message that belongs to a send', () => {
  it('carry the id and the reference of the send', async () => {
    const sendId = await accept({ reference: 'order 7' });
    await relayUntil(sendId, 'accepted');
    await relay.harness.sweepUntil('sent', () => isEmitted('message.sent'));
    const { messageId } = await find(sendId);
    relay.harness.control('messages/flags', { id: messageId, delivered: true });
    await relay.harness.sweepUntil('delivered', () => isEmitted('message.delivered'));
    const events = (await relay.harness.deliveredEvents()).filter(({ type }) => type.startsWith('message.'));
    expect(events.map(({ type }) => type)).toEqual(['message.sent', 'message.delivered']);
    for (const { data } of events) expect(data).toMatchObject({ sendId, reference: 'order 7' });
  });
});

describe('two concurrent polls that find the same message', () => {
  it('both return the send of the message, although only one poll binds the message', async () => {
    relay.harness.control('settings', { sendVisibleDelayMs: 60_000 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    const sightings: Sightings = {
      account: ACCOUNT,
      contactId: 'c',
      newMessages: [messageNow('m')],
      ...{ editedMessages: [], otherChangedMessages: [] },
      ...{ upstreamAheadMs: 0, readAt: Date.now(), messagesRead: 1 },
    };
    const first = new MessageBinder(relay.harness.sends, relay.harness.logger);
    const overtakenStore = Object.create(relay.harness.sends) as RelayStore;
    overtakenStore.sendsAwaitingMessage = async (...query) => {
      await first.bind(sightings);
      return relay.harness.sends.sendsAwaitingMessage(...query);
    };
    const bound = await new MessageBinder(overtakenStore, relay.harness.logger).bind(sightings);
    expect(bound.get('m')).toEqual({ sendId: id });
    expect(await find(id)).toMatchObject({ status: 'sent', messageId: 'm' });
  });
});

function messageNow(id: string): Sightings['newMessages'][number] {
  const form = { direction: 'outbound' as const, to: NUMBER, body: 'Hi', attachments: 0 };
  return { ...form, id, timestamp: Date.now(), delivered: false, read: false, raw: {} };
}
