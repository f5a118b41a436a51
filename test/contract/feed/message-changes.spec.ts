import { describe, expect, it } from '@jest/globals';
import { A } from './house.js';
import { NUMBER, received, WithHouse } from './with-house.js';

const here = new WithHouse();

const HOUR_MS = 3_600_000;

/** Creates an outbound message of a known contact and polls it. */
async function sent(): Promise<{ contactId: string; id: string }> {
  const { contactId } = await here.createKnownContact(3);
  const [id = ''] = here.house.messages(contactId, { direction: 'outbound' });
  await here.house.sweep();
  return { contactId, id };
}
const types = async (): Promise<string[]> => (await here.house.types()).slice(1);

describe('the flags of a message', () => {
  it('are emitted as delivered, then read, if both are set at once', async () => {
    const { id } = await sent();
    here.house.control('messages/flags', { id, delivered: true, read: true });
    await here.house.sweep();
    expect(await types()).toEqual(['message.delivered', 'message.read']);
  });

  it('are emitted as read alone, then as delivered, if set in this order', async () => {
    const { id } = await sent();
    here.house.control('messages/flags', { id, read: true });
    await here.house.sweep();
    expect(await types()).toEqual(['message.read']);
    here.house.control('messages/flags', { id, delivered: true });
    await here.house.sweep();
    expect(await types()).toEqual(['message.read', 'message.delivered']);
  });

  it('that flip back and forth are emitted as read once, then as updated', async () => {
    const { id } = await sent();
    for (const read of [true, false, true, false]) {
      here.house.control('messages/flags', { id, read });
      await here.house.sweep();
    }
    expect(await types()).toEqual(['message.read', 'message.updated', 'message.updated', 'message.updated']);
    const changes = (await here.house.told()).slice(1).map(({ data }) => data['changes']);
    const flip = (to: boolean): unknown => ({ 'status.read': { from: !to, to } });
    expect(changes).toEqual([flip(true), flip(false), flip(true), flip(false)]);
  });

  it.each(['newestFirst', 'oldestFirst'] as const)(
    'that are set on page 7 are looked up without a read of all pages: %s',
    async (order) => {
      const { house } = here;
      house.control('settings', { order });
      const contactId = house.contact(NUMBER);
      const at = Date.now() - 86_400_000;
      const inbound = { count: 130, intervalMs: 10 };
      if (order === 'oldestFirst') house.messages(contactId, { ...inbound, timestamp: at - 5_000_000 });
      const [id] = house.messages(contactId, { direction: 'outbound', timestamp: at });
      house.messages(contactId, { ...inbound, timestamp: at + 1_000 });
      await house.sweep();
      house.control('messages/flags', { id, delivered: true });
      await house.sweep();
      expect(await here.messageEvents()).toEqual([]);
      const state = await house.store.contactState(A, contactId);
      expect(state?.memory.lookDueAt).toBeGreaterThan(state?.now ?? Infinity);
      house.store.aheadMs = 2 * HOUR_MS;
      const before = house.requests(/messages/);
      await house.polls.poll(A, contactId);
      expect(await here.messageEvents()).toEqual([`message.delivered ${id ?? ''}`]);
      expect(house.requests(/messages/) - before).toBeLessThanOrEqual(8);
    },
  );
});

describe('a message', () => {
  it.each([
    ['an edited text', { message: 'other' }, { message: { to: 'other' } }],
    ['a downgraded service', { service: 'SMS' }, { service: { to: 'SMS' } }],
    ['a late attachment', { attachments: [{ url: 'x' }] }, { attachments: { to: [{ url: 'x' }] } }],
    ['an undocumented field', { mood: 'good' }, { other: expect.anything() }],
  ])('with %s is emitted as one update', async (_, edit, changes) => {
    const { id } = await sent();
    here.house.control('messages/edit', { id, ...edit });
    await here.house.sweep();
    await here.house.sweep();
    expect(await types()).toEqual(['message.updated']);
    expect((await here.house.told()).at(-1)?.data['changes']).toEqual(changes);
  });

  it.each([
    ['composed', 'caf\u00e9'],
    ['decomposed', 'cafe\u0301'],
    ['emoji with joiners', '👩‍👩‍👧‍👦🏳️‍🌈👍🏽'],
    ['right to left', '\u202bשלום عليكم\u202c'],
    ['empty', ''],
    ['with control characters', 'a\u0000\u2028\r\n"\\'],
  ])('with a text that is %s is emitted once, with exactly that text', async (_, text) => {
    const { contactId } = await here.createKnownContact(1);
    here.house.messages(contactId, { text });
    await here.house.sweep();
    await here.house.sweep();
    const emitted = await here.house.told();
    expect(emitted).toHaveLength(1);
    expect((emitted[0]?.data['message'] as { message: string }).message).toBe(text);
  });

  it('whose text changes to another Unicode normal form is emitted as an update, since the bytes differ', async () => {
    const { contactId } = await here.createKnownContact(1);
    const [id] = here.house.messages(contactId, { text: 'caf\u00e9' });
    await here.house.sweep();
    here.house.control('messages/edit', { id, message: 'cafe\u0301' });
    await here.house.sweep();
    expect(await types()).toEqual(['message.updated']);
  });

  it.each([{ message: null }, { message: null, attachments: [{ url: 'https://x/y.jpg' }] }])(
    'without a text is emitted once, with its other fields: %j',
    async (fields) => {
      const { contactId } = await here.createKnownContact(1);
      here.house.messages(contactId, { fields });
      await here.house.sweep();
      await here.house.sweep();
      const emitted = await here.house.told();
      expect(emitted).toHaveLength(1);
      expect(emitted[0]?.data['message']).toMatchObject(fields);
    },
  );
});

describe('a message page', () => {
  it.each([
    { kind: 'status', status: 503 },
    'html',
    'truncatedJson',
    { kind: 'truncatedJson', cut: 'connection' },
    'emptyObject',
    'errorBody200',
    'resetBefore',
  ])('that cannot be read fails the poll, and the next poll emits everything: %j', async (fault) => {
    const { house } = here;
    house.control('settings', { limitCap: 20 });
    const { contactId } = await here.createKnownContact(5);
    const ids = house.messages(contactId, { count: 50, intervalMs: 10 });
    house.control('faults', { match: { path: 'page=3' }, fault });
    await expect(house.polls.poll(A, contactId)).rejects.toThrow();
    expect(await house.types()).toEqual([]);
    await house.sweep();
    expect(await here.messageEvents()).toEqual(received(ids));
  });

  it.each(['null', 'number', 'string', 'array', 'noId'])(
    'with an unreadable element (%s) hides no other message',
    async (garbage) => {
      const { house } = here;
      const { contactId } = await here.createKnownContact(5);
      const ids = house.messages(contactId, { count: 30, intervalMs: 10 });
      const fault = { kind: 'poisonMessage', garbage, position: 3, mode: 'insert' };
      house.control('faults', { match: { contactId }, fault, times: 'always' });
      await house.sweep();
      await house.sweep();
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );

  it.each([{ pageIgnored: true }, { limitIgnored: true }, { limitCap: 7 }, { limitCap: 2 }])(
    'that differs from the request hides no new message: %j',
    async (settings) => {
      const { house } = here;
      house.control('settings', settings);
      const { contactId } = await here.createKnownContact(9);
      const ids = house.messages(contactId, { count: 11, intervalMs: 10 });
      await house.sweep();
      await house.sweep();
      expect(await here.messageEvents()).toEqual(received(ids));
    },
  );
});
