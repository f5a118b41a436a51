import { describe, expect, it } from '@jest/globals';
import { ACCOUNT } from './feed-harness.js';
import { NUMBER, received, WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();

const HOUR_MS = 3_600_000;

/** Creates an outbound message of a known contact and polls it. */
async function sent(): Promise<{ contactId: string; id: string }> {
  const { contactId } = await here.createKnownContact(3);
  const [id = ''] = here.harness.createMessages(contactId, { direction: 'outbound' });
  await here.harness.sweep();
  return { contactId, id };
}
const types = async (): Promise<string[]> => (await here.harness.eventTypes()).slice(1);

describe('the flags of a message', () => {
  it('are emitted as message.delivered, then as message.read, if both are set at once', async () => {
    const { id } = await sent();
    here.harness.control('messages/flags', { id, delivered: true, read: true });
    await here.harness.sweep();
    expect(await types()).toEqual(['message.delivered', 'message.read']);
  });

  it('are emitted as message.read, then as message.delivered, if set in this order', async () => {
    const { id } = await sent();
    here.harness.control('messages/flags', { id, read: true });
    await here.harness.sweep();
    expect(await types()).toEqual(['message.read']);
    here.harness.control('messages/flags', { id, delivered: true });
    await here.harness.sweep();
    expect(await types()).toEqual(['message.read', 'message.delivered']);
  });

  it('that flip back and forth are emitted as message.read once, then as message.updated', async () => {
    const { id } = await sent();
    for (const read of [true, false, true, false]) {
      here.harness.control('messages/flags', { id, read });
      await here.harness.sweep();
    }
    expect(await types()).toEqual(['message.read', 'message.updated', 'message.updated', 'message.updated']);
    const changes = (await here.harness.deliveredEvents()).slice(1).map(({ data }) => data['changes']);
    const flip = (to: boolean): unknown => ({ 'status.read': { from: !to, to } });
    expect(changes).toEqual([flip(true), flip(false), flip(true), flip(false)]);
  });

  it.each([
    [25, null],
    [45, null],
    [45, 404],
  ])(
    'are still checked if the message is recent by upstream’s clock, although Redis’ clock is 30 minutes ahead (newer messages: %d; status of a missing page: %j)',
    async (newer, missingPageStatus) => {
      const { harness } = here;
      const minutes = (n: number): number => n * 60_000;
      const skewMs = -minutes(30);
      harness.control('settings', { clockSkewMs: skewMs, limitCap: 20, missingPageStatus });
      const contactId = harness.createContact(NUMBER);
      const timestamp = Date.now() + skewMs - minutes(40);
      const [id] = harness.createMessages(contactId, { direction: 'outbound', timestamp });
      harness.createMessages(contactId, { count: newer, timestamp: timestamp + 1_000, intervalMs: 1_000 });
      const poller = harness.poller(harness.source, 'silent', { settleMs: HOUR_MS });
      await harness.list.poll(ACCOUNT);
      for (let polls = 0; polls < 2; polls += 1) await poller.poll(ACCOUNT, contactId);
      harness.control('messages/flags', { id, delivered: true });
      harness.store.aheadMs = minutes(11);
      harness.control('settings', { clockSkewMs: skewMs + minutes(11) });
      for (let polls = 0; polls < 2; polls += 1) await poller.poll(ACCOUNT, contactId);
      expect(await harness.eventTypes()).toEqual(['message.delivered']);
    },
  );

  it.each(['newestFirst', 'oldestFirst'] as const)(
    'that change on page 7 are found without a read of all pages (order of messages: %s)',
    async (order) => {
      const { harness } = here;
      harness.control('settings', { order });
      const contactId = harness.createContact(NUMBER);
      const at = Date.now() - 86_400_000;
      const inbound = { count: 130, intervalMs: 10 };
      if (order === 'oldestFirst')
        harness.createMessages(contactId, { ...inbound, timestamp: at - 5_000_000 });
      const [id] = harness.createMessages(contactId, { direction: 'outbound', timestamp: at });
      harness.createMessages(contactId, { ...inbound, timestamp: at + 1_000 });
      await harness.sweep();
      harness.control('messages/flags', { id, delivered: true });
      await harness.sweep();
      expect(await here.messageEvents()).toEqual([]);
      const state = await harness.store.contactState(ACCOUNT, contactId);
      expect(state?.pollState.flagCheckDueAt).toBeGreaterThan(state?.now ?? Infinity);
      harness.store.aheadMs = 2 * HOUR_MS;
      const before = harness.countRequests(/messages/);
      await harness.polls.poll(ACCOUNT, contactId);
      expect(await here.messageEvents()).toEqual([`message.delivered ${id ?? ''}`]);
      expect(harness.countRequests(/messages/) - before).toBeLessThanOrEqual(8);
    },
  );
});

describe('a message', () => {
  it.each([
    ['an edited text', { message: 'other' }, { message: { to: 'other' } }],
    ['a service that changed to SMS', { service: 'SMS' }, { service: { to: 'SMS' } }],
    [
      'an attachment that was added later',
      { attachments: [{ url: 'x' }] },
      { attachments: { to: [{ url: 'x' }] } },
    ],
    ['an undocumented field', { mood: 'good' }, { other: expect.anything() }],
  ])(
    'that is changed after its first read is emitted as one message.updated (change: %s)',
    async (_, edit, changes) => {
      const { id } = await sent();
      here.harness.control('messages/edit', { id, ...edit });
      await here.harness.sweep();
      await here.harness.sweep();
      expect(await types()).toEqual(['message.updated']);
      expect((await here.harness.deliveredEvents()).at(-1)?.data['changes']).toEqual(changes);
    },
  );

  it.each([
    ['a composed character', 'caf\u00e9'],
    ['a decomposed character', 'cafe\u0301'],
    ['emoji with joiners', '👩‍👩‍👧‍👦🏳️‍🌈👍🏽'],
    ['right-to-left text', '\u202bשלום عليكم\u202c'],
    ['an empty text', ''],
    ['control characters', 'a\u0000\u2028\r\n"\\'],
  ])('causes one event, with its exact text: %s', async (_, text) => {
    const { contactId } = await here.createKnownContact(1);
    here.harness.createMessages(contactId, { text });
    await here.harness.sweep();
    await here.harness.sweep();
    const emitted = await here.harness.deliveredEvents();
    expect(emitted).toHaveLength(1);
    expect((emitted[0]?.data['message'] as { message: string }).message).toBe(text);
  });

  it('whose text changes to another Unicode normal form is emitted as an update, since the bytes differ', async () => {
    const { contactId } = await here.createKnownContact(1);
    const [id] = here.harness.createMessages(contactId, { text: 'caf\u00e9' });
    await here.harness.sweep();
    here.harness.control('messages/edit', { id, message: 'cafe\u0301' });
    await here.harness.sweep();
    expect(await types()).toEqual(['message.updated']);
  });

  it.each([{ message: null }, { message: null, attachments: [{ url: 'https://x/y.jpg' }] }])(
    'without a text causes one event, with its other fields: %j',
    async (fields) => {
      const { contactId } = await here.createKnownContact(1);
      here.harness.createMessages(contactId, { fields });
      await here.harness.sweep();
      await here.harness.sweep();
      const emitted = await here.harness.deliveredEvents();
      expect(emitted).toHaveLength(1);
      expect(emitted[0]?.data['message']).toMatchObject(fields);
    },
  );
});

describe('a page of messages', () => {
  it.each([
    { kind: 'status', status: 503 },
    'html',
    'truncatedJson',
    { kind: 'truncatedJson', cut: 'connection' },
    'emptyObject',
    'errorBody200',
    'resetBefore',
  ])(
    'that cannot be read makes the poll fail, and the next poll emits an event for every new message (fault: %j)',
    async (fault) => {
      const { harness } = here;
      harness.control('settings', { limitCap: 20 });
      const { contactId } = await here.createKnownContact(5);
      const ids = harness.createMessages(contactId, { count: 50, intervalMs: 10 });
      harness.control('faults', { match: { path: 'page=3' }, fault });
      await expect(harness.polls.poll(ACCOUNT, contactId)).rejects.toThrow();
      expect(await harness.eventTypes()).toEqual([]);
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );

  it.each(['null', 'number', 'string', 'array', 'noId'])(
    'with an unreadable element among its messages (%s) still yields an event for every new message',
    async (garbage) => {
      const { harness } = here;
      const { contactId } = await here.createKnownContact(5);
      const ids = harness.createMessages(contactId, { count: 30, intervalMs: 10 });
      const fault = { kind: 'poisonMessage', garbage, position: 3, mode: 'insert' };
      harness.control('faults', { match: { contactId }, fault, times: 'always' });
      await harness.sweep();
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );

  it.each([{ pageIgnored: true }, { limitIgnored: true }, { limitCap: 7 }, { limitCap: 2 }])(
    'that differs from the requested page causes no loss of new messages: simulator settings %j',
    async (settings) => {
      const { harness } = here;
      harness.control('settings', settings);
      const { contactId } = await here.createKnownContact(9);
      const ids = harness.createMessages(contactId, { count: 11, intervalMs: 10 });
      await harness.sweep();
      await harness.sweep();
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );
});
