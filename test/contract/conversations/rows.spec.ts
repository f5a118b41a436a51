import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Conversation, eraseConversationRows, RedisConversations, rowRedisKeys } from '#conversations';
import { accountKeys, newId } from '#platform';
import type { SendOrder, SendRecord } from '../../../libs/relay/src/send/send-record.js';
import type { TransitionName } from '../../../libs/relay/src/send/send-transitions.js';
import { ACCOUNT } from '../feed/feed-harness.js';
import { DAY_MS, NUMBER, WithFeedHarness } from '../feed/with-feed-harness.js';

const OTHER_NUMBER = '+15551230002';
const here = new WithFeedHarness();
let conversations: RedisConversations;

beforeEach(() => {
  const { redis, prefix } = here.harness;
  conversations = new RedisConversations(redis, prefix);
});

/** Conversations of which one moves to the top of the list after a search found it and before its row is read. */
class MovingConversations extends RedisConversations {
  constructor(private readonly moving: string) {
    super(here.harness.redis, here.harness.prefix);
  }

  override async read(account: string, ids: readonly string[]): Promise<Conversation[]> {
    const { redis, prefix } = here.harness;
    await redis.zadd(rowRedisKeys(accountKeys(prefix, account)).rowOrder, Date.now(), this.moving);
    return super.read(account, ids);
  }
}

async function row(id: string): Promise<Conversation | undefined> {
  const [found] = await conversations.read(ACCOUNT, [id]);
  return found;
}

async function listed(): Promise<string[]> {
  return (await conversations.list(ACCOUNT, 100)).conversations.map(({ id }) => id);
}

/** Creates a message in the simulator `ago` milliseconds in the past, without reading it. */
function create(
  contactId: string,
  direction: 'inbound' | 'outbound',
  ago: number,
  text: string = direction,
): string {
  const [id = ''] = here.harness.createMessages(contactId, { direction, timestamp: Date.now() - ago, text });
  return id;
}

async function accept(phoneNumber: string, message: string): Promise<SendRecord> {
  const order: SendOrder = { id: newId('snd'), type: 'text', phoneNumber, message, createdAt: Date.now() };
  await here.harness.sends.insert(ACCOUNT, order);
  return found(order.id);
}

async function found(id: string): Promise<SendRecord> {
  const record = await here.harness.sends.find(ACCOUNT, id);
  if (record === undefined) throw new Error(`no send ${id}`);
  return record;
}

async function transit(record: SendRecord, transition: TransitionName): Promise<SendRecord> {
  const { attempts, refusals } = record.state;
  const next = await here.harness.sends.apply(ACCOUNT, record, { transition, state: { attempts, refusals } });
  if (next === undefined) throw new Error(`${transition} was refused`);
  return next;
}

describe('the conversation of a contact', () => {
  it('exists as soon as the contact is in the contact list, even without messages', async () => {
    const id = here.harness.createContact(NUMBER);
    await here.harness.list.poll(ACCOUNT);
    expect(await row(id)).toMatchObject({
      ...{ id, contactId: id, phoneNumbers: [NUMBER], last: undefined, lastActivityAt: undefined },
      ...{ unreadCount: 0, waitingSince: undefined, pendingSends: 0, failedSends: 0 },
    });
  });

  it('shows the last message and since when the contact waits for an answer; messages of the baseline do not count as unread', async () => {
    const { contactId, ids } = await here.createKnownContact(3);
    const shown = await row(contactId);
    expect(shown).toMatchObject({
      last: { kind: 'message', id: ids[2], direction: 'inbound' },
      unreadCount: 0,
    });
    expect(shown?.lastActivityAt).toBe(shown?.last?.at);
    expect(shown?.waitingSince).toBeLessThan(shown?.last?.at ?? 0);
  });

  it('counts new inbound messages as unread until they are seen or an outbound message follows', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(1);
    const first = create(contactId, 'inbound', 3_000, 'one');
    create(contactId, 'inbound', 2_000, 'two');
    await harness.sweep();
    expect(await row(contactId)).toMatchObject({ unreadCount: 2, last: { preview: 'two' } });
    expect(await conversations.markSeen(ACCOUNT, contactId, first)).toBe(true);
    const seen = await row(contactId);
    expect(seen?.unreadCount).toBe(1);
    expect(seen?.waitingSince).toBeDefined();
    create(contactId, 'outbound', 1_000, 'answer');
    await harness.sweep();
    expect(await row(contactId)).toMatchObject({
      ...{ unreadCount: 0, waitingSince: undefined },
      last: { preview: 'answer', direction: 'outbound' },
    });
  });

  it('also counts unread messages whose ids upstream returns as numbers', async () => {
    const { harness } = here;
    harness.control('settings', { idType: 'number' });
    const { contactId } = await here.createKnownContact(1);
    create(contactId, 'inbound', 1_000, 'new');
    await harness.sweep();
    expect(await row(contactId)).toMatchObject({ unreadCount: 1, last: { preview: 'new' } });
  });

  it('does not change when a message older than the last seen message is marked as seen', async () => {
    const { contactId } = await here.createKnownContact(1);
    const first = create(contactId, 'inbound', 3_000);
    const second = create(contactId, 'inbound', 2_000);
    await here.harness.sweep();
    await conversations.markSeen(ACCOUNT, contactId, second);
    const before = await row(contactId);
    expect(before?.unreadCount).toBe(0);
    expect(await conversations.markSeen(ACCOUNT, contactId, first)).toBe(true);
    expect(await row(contactId)).toEqual(before);
    expect(await conversations.markSeen(ACCOUNT, contactId, 'msg_unknown')).toBe(false);
    expect(await conversations.markSeen(ACCOUNT, 'con_unknown', first)).toBe(false);
  });

  it('still lists all other messages as unread after single messages were marked as seen, whatever the position of those messages', async () => {
    const { contactId } = await here.createKnownContact(1);
    const [first = '', second = '', third = ''] = [3_000, 2_000, 1_000].map((ms) =>
      create(contactId, 'inbound', ms),
    );
    await here.harness.sweep();
    expect(await conversations.unreadMessages(ACCOUNT, contactId)).toEqual([first, second, third]);
    await conversations.markEachSeen(ACCOUNT, contactId, [third, first, 'msg_unknown']);
    expect(await conversations.unreadMessages(ACCOUNT, contactId)).toEqual([second]);
    const before = await row(contactId);
    expect(before?.unreadCount).toBe(1);
    await conversations.markEachSeen(ACCOUNT, contactId, [third]);
    await conversations.markEachSeen(ACCOUNT, 'con_unknown', [second]);
    expect(await row(contactId)).toEqual(before);
    expect(await conversations.unreadMessages(ACCOUNT, 'con_unknown')).toEqual([]);
  });

  it.each(['newestFirst', 'oldestFirst', 'random'] as const)(
    'counts an inbound message as answered only by an outbound message with a later timestamp, in whatever order polls find the two messages (order of messages: %s)',
    async (order) => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(25);
      create(contactId, 'inbound', 30_000);
      const waiting = create(contactId, 'inbound', 10_000, 'last');
      await harness.sweepUntil('both are found', async () => (await row(contactId))?.unreadCount === 2);
      create(contactId, 'outbound', 20_000);
      await harness.sweepUntil('the answer is found', async () => (await row(contactId))?.unreadCount === 1);
      expect(await row(contactId)).toMatchObject({ last: { id: waiting, preview: 'last' } });
      create(contactId, 'inbound', 40_000);
      create(contactId, 'inbound', 5_000, 'newest');
      await harness.sweepUntil('the newest is found', async () => (await row(contactId))?.unreadCount === 2);
      const shown = await row(contactId);
      expect(shown?.last?.preview).toBe('newest');
      expect(Date.now() - (shown?.waitingSince ?? 0)).toBeLessThan(20_000);
    },
  );

  it('keeps its position in the list if a flag or the text of a message changes, and shows the edited text of the last message', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(1);
    const id = create(contactId, 'outbound', 1_000, 'first form');
    await harness.sweep();
    const before = await row(contactId);
    harness.control('messages/flags', { id, delivered: true });
    await harness.sweep();
    expect((await harness.eventTypes()).at(-1)).toBe('message.delivered');
    expect(await row(contactId)).toEqual(before);
    harness.control('messages/edit', { id, message: 'second form' });
    await harness.sweep();
    const after = await row(contactId);
    expect(after?.last).toEqual({ ...before?.last, preview: 'second form' });
    expect(after?.lastActivityAt).toBe(before?.lastActivityAt);
    expect(after?.revision).toBeGreaterThan(before?.revision ?? 0);
  });

  it.each(['newestFirst', 'oldestFirst', 'random'] as const)(
    'is recalculated from the remaining messages when messages are deleted (order of messages: %s)',
    async (order) => {
      const { harness } = here;
      harness.control('settings', { order });
      const { contactId } = await here.createKnownContact(25);
      const first = create(contactId, 'inbound', 60_000, 'stays');
      const answer = create(contactId, 'outbound', 50_000, 'goes');
      const last = create(contactId, 'inbound', 40_000, 'goes too');
      await harness.sweepUntil('all are found', async () => (await row(contactId))?.last?.id === last);
      harness.control('messages/delete', { ids: [answer, last] });
      await here.readAllMinutesApart(contactId, 2);
      expect((await harness.eventTypes()).filter((type) => type === 'message.deleted')).toHaveLength(2);
      const shown = await row(contactId);
      expect(shown).toMatchObject({ last: { id: first, preview: 'stays' } });
      expect(shown?.lastActivityAt).toBe(shown?.last?.at);
      // The messages of the baseline before it were never answered.
      expect(shown?.waitingSince).toBeLessThan(Date.now() - 2 * DAY_MS);
    },
  );

  it('is removed when the contact is deleted, and is restored when the contact returns', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(2);
    const before = await row(contactId);
    harness.control('contacts/delete', { contactId });
    await harness.list.poll(ACCOUNT);
    harness.store.aheadMs += 62_000;
    await harness.list.poll(ACCOUNT);
    expect((await harness.eventTypes()).at(-1)).toBe('contact.deleted');
    expect(await row(contactId)).toBeUndefined();
    expect(await listed()).toEqual([]);
    harness.control('contacts/restore', { contactId });
    await harness.list.poll(ACCOUNT);
    expect(await row(contactId)).toEqual({ ...before, revision: (await row(contactId))?.revision });
    expect(before?.last?.id).toBe(ids[1]);
  });

  it('has a higher revision after a change than before, even if Redis has lost its last changes in between', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(1);
    const before = await row(contactId);
    await harness.redis.set(`${harness.prefix}:{${ACCOUNT}}:conversations:revision`, 1);
    harness.control('messages', { contactId, text: 'next' });
    await harness.polls.poll(ACCOUNT, contactId);
    const after = await row(contactId);
    expect(after?.last?.preview).toBe('next');
    expect(after?.revision).toBeGreaterThan(before?.revision ?? Infinity);
  });

  it('is created by the next poll if an earlier build stored the contact', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(5);
    const before = await row(contactId);
    await eraseConversationRows(harness.redis, harness.prefix, ACCOUNT);
    expect(await row(contactId)).toBeUndefined();
    await harness.polls.poll(ACCOUNT, contactId);
    const after = await row(contactId);
    expect(after).toMatchObject({ last: { id: ids[4] }, phoneNumbers: [NUMBER], unreadCount: 0 });
    expect({ ...after, revision: 0 }).toEqual({ ...before, revision: 0 });
    expect((await conversations.search(ACCOUNT, '4567', 10)).conversations).toEqual([after]);
  });

  it('has the phone numbers of all its messages, even of an old message that is found later', async () => {
    const { harness } = here;
    await here.createKnownContact(1);
    const other = harness.createContact(OTHER_NUMBER);
    create(other, 'outbound', 1_000);
    await harness.sweep();
    const timestamp = Date.now() - 30 * 86_400_000;
    harness.createMessages(other, { direction: 'inbound', timestamp, fields: { from: NUMBER } });
    await harness.sweep();
    expect(await row(other)).toMatchObject({ phoneNumbers: [OTHER_NUMBER, NUMBER] });
  });
});

describe('a send in a conversation', () => {
  it('is shown under its phone number until a contact has the number; the conversation of the contact then replaces the conversation of the number', async () => {
    const { harness } = here;
    const { order } = await accept(NUMBER, 'hello');
    expect(await row(NUMBER)).toMatchObject({
      ...{ id: NUMBER, contactId: undefined, phoneNumbers: [NUMBER], pendingSends: 1 },
      last: { kind: 'send', id: order.id, preview: 'hello', direction: 'outbound' },
      lastActivityAt: order.createdAt,
    });
    const contactId = harness.createContact(NUMBER);
    await harness.list.poll(ACCOUNT);
    expect(await listed()).toEqual([contactId]);
    const shown = await row(NUMBER);
    expect(shown).toMatchObject({
      id: contactId,
      replaces: NUMBER,
      pendingSends: 1,
      lastActivityAt: order.createdAt,
    });
    expect(shown).toEqual(await row(contactId));
  });

  it('counts as pending until it is sent, and its preview is shown until its message is recorded', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(1);
    let record = await accept(NUMBER, 'on its way');
    expect(await listed()).toEqual([contactId]);
    for (const transition of ['fenced', 'accepted'] as const) record = await transit(record, transition);
    expect(await row(contactId)).toMatchObject({
      pendingSends: 1,
      last: { kind: 'send', id: record.order.id },
    });
    const id = create(contactId, 'outbound', 0, 'on its way');
    await harness.sweep();
    expect((await found(record.order.id)).state).toMatchObject({ status: 'sent', messageId: id });
    const shown = await row(contactId);
    expect(shown).toMatchObject({ pendingSends: 0, last: { kind: 'message', id, preview: 'on its way' } });
    expect(shown?.lastActivityAt).toBeGreaterThanOrEqual(record.order.createdAt);
  });

  it('counts as failed after a failure, as pending after a resend, and not at all after its removal', async () => {
    const { harness } = here;
    let record = await accept(NUMBER, 'refused');
    record = await transit(await transit(record, 'fenced'), 'refused');
    expect(record.state.status).toBe('failed');
    expect(await row(NUMBER)).toMatchObject({
      pendingSends: 0,
      failedSends: 1,
      last: { preview: 'refused' },
    });
    record = await transit(record, 'resolved_resend');
    expect(await row(NUMBER)).toMatchObject({ pendingSends: 1, failedSends: 0 });
    record = await transit(await transit(record, 'fenced'), 'refused');
    await harness.sends.trim(ACCOUNT, { maxAgeMs: -10_000, maxCount: 100 });
    await expect(harness.sends.find(ACCOUNT, record.order.id)).resolves.toBeUndefined();
    expect(await row(NUMBER)).toBeUndefined();
    expect(await listed()).toEqual([]);
  });

  it('is no longer shown if it is cancelled: the conversation then shows the previous send or message', async () => {
    const { contactId, ids } = await here.createKnownContact(1);
    const first = await accept(NUMBER, 'first');
    const second = await accept(NUMBER, 'second');
    await transit(second, 'cancelled');
    expect(await row(contactId)).toMatchObject({ pendingSends: 1, last: { id: first.order.id } });
    await transit(first, 'cancelled');
    const shown = await row(contactId);
    expect(shown).toMatchObject({ pendingSends: 0, last: { id: ids[0] } });
    expect(shown?.lastActivityAt).toBe(shown?.last?.at);
  });

  it('is shown under the contact if the id of the contact equals the phone number; the conversation remains after all its sends are cancelled', async () => {
    const { harness } = here;
    const first = await accept(NUMBER, 'before the contact exists');
    const contactId = harness.createContact(NUMBER);
    harness.control('contacts/renumber-id', { contactId, newId: NUMBER });
    const [id] = here.createOldMessages(NUMBER, 1);
    await harness.sweep();
    const second = await accept(NUMBER, 'afterwards');
    expect(await row(NUMBER)).toMatchObject({ contactId: NUMBER, replaces: undefined, pendingSends: 2 });
    for (const record of [second, first]) await transit(record, 'cancelled');
    const shown = await row(NUMBER);
    expect(shown).toMatchObject({ contactId: NUMBER, pendingSends: 0, last: { kind: 'message', id } });
    expect(shown?.lastActivityAt).toBe(shown?.last?.at);
    expect(await listed()).toEqual([NUMBER]);
    expect((await conversations.search(ACCOUNT, '4567', 10)).conversations).toEqual([shown]);
  });

  it('belongs to the contact that most recently used the phone number of the send', async () => {
    const { harness } = here;
    const { contactId, ids } = await here.createKnownContact(1);
    await accept(NUMBER, 'for whom');
    const other = harness.createContact(OTHER_NUMBER);
    await harness.list.poll(ACCOUNT);
    harness.createMessages(other, { timestamp: Date.now(), text: 'my new phone' });
    // The other contact writes from the number of the first.
    const { source } = harness;
    const fromNumber: typeof source = {
      ...source,
      listMessages: async (...request) => {
        const page = await source.listMessages(...request);
        return { ...page, items: page.items.map((message) => ({ ...message, from: NUMBER })) };
      },
    };
    await harness.poller(fromNumber).poll(ACCOUNT, other);
    expect(await harness.ownerOf(NUMBER)).toBe(other);
    expect(await row(contactId)).toMatchObject({ pendingSends: 0, last: { kind: 'message' } });
    expect(await row(other)).toMatchObject({ pendingSends: 1, phoneNumbers: [NUMBER, OTHER_NUMBER] });
    // An edit of an older message does not change the contact to which the number belongs.
    harness.control('messages/edit', { id: ids[0], message: 'edited' });
    await harness.polls.poll(ACCOUNT, contactId);
    expect((await harness.eventTypes()).at(-1)).toBe('message.updated');
    expect(await harness.ownerOf(NUMBER)).toBe(other);
  });

  it('is shown under its phone number if the contact that most recently used the number is not in the contact list', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(1);
    await accept(NUMBER, 'for whom');
    const other = harness.createContact(OTHER_NUMBER);
    await harness.list.poll(ACCOUNT);
    harness.control('contacts/delete', { contactId: other });
    await harness.list.poll(ACCOUNT);
    harness.store.aheadMs += 62_000;
    await harness.list.poll(ACCOUNT);
    harness.control('contacts/restore', { contactId: other });
    harness.createMessages(other, { timestamp: Date.now(), fields: { from: NUMBER } });
    await harness.polls.poll(ACCOUNT, other);
    expect(await listed()).toEqual([NUMBER, contactId]);
    await harness.list.poll(ACCOUNT);
    expect(await row(NUMBER)).toMatchObject({ id: other, replaces: NUMBER, pendingSends: 1 });
  });

  it('is shown under its phone number while the contact is deleted, and under the contact once the contact returns', async () => {
    const { harness } = here;
    const { contactId } = await here.createKnownContact(1);
    await accept(NUMBER, 'still pending');
    harness.control('contacts/delete', { contactId });
    await harness.list.poll(ACCOUNT);
    harness.store.aheadMs += 62_000;
    await harness.list.poll(ACCOUNT);
    expect(await listed()).toEqual([NUMBER]);
    expect(await row(NUMBER)).toMatchObject({ pendingSends: 1, last: { preview: 'still pending' } });
    await accept(NUMBER, 'another');
    expect(await row(NUMBER)).toMatchObject({ pendingSends: 2, last: { preview: 'another' } });
    harness.control('contacts/restore', { contactId });
    await harness.list.poll(ACCOUNT);
    expect(await listed()).toEqual([contactId]);
    expect(await row(NUMBER)).toMatchObject({ id: contactId, replaces: NUMBER, pendingSends: 2 });
  });
});

describe('the list of conversations', () => {
  it('is sorted by last activity and id; while some conversations change position, the pages contain every other conversation exactly once', async () => {
    const { harness } = here;
    const contacts = Array.from({ length: 12 }, (_, i) => harness.createContact(`+1555777${1000 + i}`));
    const timestamp = Date.now() - DAY_MS;
    // Half of the contacts have a last message of the same time, and two have none.
    for (const [i, contactId] of contacts.slice(0, 10).entries())
      harness.createMessages(contactId, { timestamp: timestamp + Math.max(i - 5, 0) * 1_000 });
    await harness.sweep();
    const rows = (await conversations.list(ACCOUNT, 100)).conversations;
    const places = rows.map(({ id, lastActivityAt = 0 }) => [lastActivityAt, id] as const);
    expect(places).toEqual(
      places.toSorted(([a, x], [b, y]) => b - a || Buffer.compare(Buffer.from(y), Buffer.from(x))),
    );
    const met: string[] = [];
    let after: { at: number; id: string } | undefined;
    const moving = new Set([rows[3]?.id, rows[9]?.id]);
    do {
      const page = await conversations.list(ACCOUNT, 3, after);
      met.push(...page.conversations.map(({ id }) => id));
      after = page.next;
      if (met.length === 3) for (const id of moving) create(String(id), 'inbound', 0);
      await harness.sweep();
    } while (after !== undefined);
    expect(met.filter((id) => !moving.has(id))).toEqual(
      rows.map(({ id }) => id).filter((id) => !moving.has(id)),
    );
  });

  it('is searched page by page without repeating or skipping a conversation, even if the last conversation of a page moves during the search', async () => {
    const { harness } = here;
    const contacts = [1, 2, 3, 4].map((i) =>
      harness.createContact(`+1555888${1000 + i}`, { name: `Paging ${i}` }),
    );
    for (const [i, contactId] of contacts.entries())
      harness.createMessages(contactId, { timestamp: Date.now() - DAY_MS - i * 1_000 });
    await harness.sweep();
    const [, second = ''] = contacts;
    const page = await new MovingConversations(second).search(ACCOUNT, 'paging', 2);
    const rest = await conversations.search(ACCOUNT, 'paging', 10, page.next);
    const ids = [...page.conversations, ...rest.conversations].map(({ id }) => id);
    expect(ids.toSorted()).toEqual(contacts.toSorted());
  });

  it('can be searched by the beginning of a word in a contact field, and by the first or last digits of a phone number', async () => {
    const { harness } = here;
    const jose = harness.createContact(NUMBER, { name: 'José García-Márquez' });
    const josephine = harness.createContact(OTHER_NUMBER, {
      name: 'Josephine Baker',
      note: 'https://jose.example',
    });
    await harness.sweep();
    const search = async (q: string): Promise<string[]> =>
      (await conversations.search(ACCOUNT, q, 10)).conversations.map(({ id }) => id).sort();
    expect(await search('jos')).toEqual([jose, josephine].sort());
    expect(await search('JOSÉ')).toEqual([jose, josephine].sort());
    expect(await search('marq')).toEqual([jose]);
    expect(await search('jos bak')).toEqual([josephine]);
    expect(await search('ose')).toEqual([]);
    expect(await search('  ')).toEqual([]);
    expect(await search('4567')).toEqual([jose]);
    expect(await search('(555) 123-0002')).toEqual([josephine]);
    expect(await search('+1555123')).toEqual([jose, josephine].sort());
    harness.control('contacts/edit', { contactId: jose, name: 'Pepe' });
    await harness.list.poll(ACCOUNT);
    expect(await search('garc')).toEqual([]);
    expect(await search('pepe')).toEqual([jose]);
    const amongSome = async (ids: string[]): Promise<string[]> =>
      (await conversations.listSome(ACCOUNT, ids, '+1555123', 10)).conversations.map(({ id }) => id);
    expect(await amongSome([josephine])).toEqual([josephine]);
    expect(await amongSome([])).toEqual([]);
  });

  it('finds a conversation by a frequent word only while the conversation is among the latest, and by a rare word at any age of the conversation', async () => {
    const { harness } = here;
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const id = harness.createContact(`+1555123100${n}`, { name: n === 0 ? 'Ada Zuse' : 'Ada' });
      create(id, 'inbound', (10 - n) * 1_000);
      ids.push(id);
    }
    await harness.sweep();
    const latest = ids.toReversed();
    const search = async (q: string, maxIndexed: number): Promise<string[]> => {
      const limits = { maxIndexed, maxCandidates: 3 };
      const limited = new RedisConversations(harness.redis, harness.prefix, limits);
      return (await limited.search(ACCOUNT, q, 10)).conversations.map(({ id }) => id);
    };
    // The word is too frequent for the index, or its conversations are in the index.
    for (const maxIndexed of [4, 5]) expect(await search('ada', maxIndexed)).toEqual(latest.slice(0, 3));
    expect(await search('zuse', 4)).toEqual([ids[0]]);
    expect(await search('ada zuse', 4)).toEqual([ids[0]]);
    // A phone number is indexed from its beginning and from its end, and as a word of its field.
    expect(await search('+15551231000', 2)).toEqual([ids[0]]);
    // No index is used, and the conversation is not among the latest.
    expect(await search('zuse', 0)).toEqual([]);
  });

  it('indexes a conversation only by the phone numbers in the contact fields and by the ten latest phone numbers of the messages', async () => {
    const { harness } = here;
    const id = harness.createContact(NUMBER);
    const numbers = Array.from({ length: 11 }, (_, i) => `+155512310${10 + i}`);
    const write = (from: string, ago: number): void => {
      harness.createMessages(id, { timestamp: Date.now() - ago, fields: { from } });
    };
    for (const [i, number] of [NUMBER, ...numbers].entries()) write(number, 20_000 - i * 1_000);
    await harness.sweep();
    write('+15551239999', 60_000);
    await harness.sweep();
    const { rowWords } = rowRedisKeys(accountKeys(harness.prefix, ACCOUNT));
    const members = (await harness.redis.zrange(rowWords, '0', '-1')).map((member) => member.split('\0'));
    const words = members.flatMap(([word = '', of]) => (of === id && word.startsWith('+') ? [word] : []));
    expect(words).toEqual([...numbers.slice(1), NUMBER]);
  });

  it('can be searched by a number in a contact field', async () => {
    const { harness } = here;
    const room = harness.createContact(NUMBER, { name: 'Room 101' });
    harness.createContact(OTHER_NUMBER, { name: 'Room 110' });
    await harness.sweep();
    for (const query of ['101', '10 1', 'room 101'])
      expect((await conversations.search(ACCOUNT, query, 10)).conversations.map(({ id }) => id)).toEqual([
        room,
      ]);
    expect((await conversations.search(ACCOUNT, '01', 10)).conversations).toEqual([]);
  });
});
