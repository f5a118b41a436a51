import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { type ReceivedEvent, WebhookReceiver } from '../support/webhook-receiver.js';
import { upstreamKeyOf } from './environment.mjs';
import { ACCOUNTS, Upgraded } from './upgraded.js';

interface Send {
  id: string;
  status: string;
  messageId: string | null;
  attempts: object[];
}

interface Delivery {
  id: string;
  eventId: string;
  status: string;
  attempts: object[];
}

interface AcceptedSend {
  message: string;
  parts: { name: string; sha256?: string }[];
}

/** Webhooks whose receivers answer from now on. */
const REACHABLE = ['live', 'failing', 'ordered', 'filtered', 'hanging', 'of another account', 'off'];

let upgraded: Upgraded;
const receivers = new Map<string, WebhookReceiver>();
beforeAll(async () => {
  upgraded = await Upgraded.start();
  // Every port is another one than before, so the gateway is told the new addresses before the worker starts.
  for (const account of ACCOUNTS.filter((id) => id !== 'default')) {
    const change = { baseUrl: upgraded.baseUrlOf(account), apiKey: upstreamKeyOf(account) };
    await upgraded.json('PATCH', `/v1/accounts/${account}`, change);
  }
  for (const name of REACHABLE) {
    const receiver = await WebhookReceiver.start(upgraded.api);
    receivers.set(name, receiver);
    const [before] = upgraded.answersTo<{ secret: string }>(
      new RegExp(`/${webhookId(name)}/secret$`),
      accountOf(name),
    );
    receiver.secret = before?.secret;
    await upgraded.json('PATCH', `/v1/webhooks/${webhookId(name)}`, { url: receiver.url }, accountOf(name));
  }
  // The old build's sends were hidden until after the snapshot.
  await upgraded.simulate('default', 'settings', { sendVisibleDelayMs: 50 });
  await upgraded.startWorker();
});
afterAll(async () => {
  await upgraded[Symbol.asyncDispose]();
  for (const receiver of receivers.values()) await receiver[Symbol.asyncDispose]();
});

describe('on the stored data of an old build, the sends', () => {
  it.each([
    'queued',
    'queued behind another',
    'queued behind a look-up',
    'queued after an attempt',
    'queued with a key',
    'scheduled, due soon',
  ])('"%s": is posted exactly once', async (name) => {
    await becomesSent(name);
    expect(await postsOf(name)).toHaveLength(1);
  });

  it('of another account is posted exactly once', async () => {
    await becomesSent('queued in another account', 'oldest');
    expect(await postsOf('queued in another account', 'oldest')).toHaveLength(1);
  });

  it('with a file that waited is posted with that file', async () => {
    await becomesSent('queued with a file');
    const [post] = await postsOf('queued with a file');
    const sha256 = createHash('sha256').update('Waits').digest('hex');
    expect(post?.parts).toContainEqual(expect.objectContaining({ name: 'file', sha256 }));
  });

  it('to one recipient go in the order of their acceptance', async () => {
    await becomesSent('queued behind another');
    const order = (await posts()).map(({ message }) => message);
    for (const [first, second] of [
      ['queued', 'queued behind another'],
      ['looked up, taken', 'queued behind a look-up'],
    ] as const)
      expect(order.indexOf(first)).toBeLessThan(order.indexOf(second));
  });

  it.each(['accepted', 'accepted with a file', 'looked up, taken', 'being posted'])(
    '"%s": finds its message and is not posted again',
    async (name) => {
      const { messageId } = await becomesSent(name);
      expect(messageId).toMatch(/^msg_/);
      expect(await postsOf(name)).toHaveLength(1);
    },
  );

  it('that upstream did not take becomes unknown and is not posted again', async () => {
    const send = await becomes('looked up, not taken', ['unknown']);
    expect(send.attempts).toHaveLength(1);
    expect(await postsOf('looked up, not taken')).toEqual([]);
  });

  it.each(['unknown', 'unconfirmed'])('"%s": is found when its message appears late', async (name) => {
    const [before] = upgraded.answersTo<{ phoneNumber: string }>(
      new RegExp(`^/v1/sends/${upgraded.snapshot.names.sends[name] ?? ''}$`),
    );
    const { ids } = await upgraded.simulate<{ ids: string[] }>('default', 'messages', {
      ...{ direction: 'outbound', to: before?.phoneNumber, text: name },
    });
    expect((await becomesSent(name)).messageId).toBe(ids[0]);
  });

  it('past its expiry ends as expired and is not posted', async () => {
    await becomes('queued, expires soon', ['expired']);
    expect(await postsOf('queued, expires soon')).toEqual([]);
  });

  it('whose message gets a flag moves on', async () => {
    const { messages } = upgraded.snapshot.names;
    await upgraded.simulate('default', 'messages/flags', { id: messages['sent'], delivered: true });
    await becomes('sent', ['delivered']);
  });

  it('that were final, and the one scheduled for a distant day, stay as they were', async () => {
    const { names } = upgraded.snapshot;
    const moving = /^(queued|accepted|looked up|being posted|sent$|scheduled, due soon|unknown|unconfirmed)/;
    for (const [name, id] of Object.entries(names.sends).filter(([name]) => !moving.test(name))) {
      const [before] = upgraded.answersTo(new RegExp(`^/v1/sends/${id}$`));
      expect({ name, send: await upgraded.json('GET', `/v1/sends/${id}`) }).toMatchObject({
        name,
        send: before,
      });
    }
  });
});

describe('on the stored data of an old build, the events', () => {
  it('of known messages and contacts are not emitted again, and those of new messages are', async () => {
    const { contacts } = upgraded.snapshot.names;
    for (const [account, name] of [
      ['default', 'Ann'],
      ['oldest', 'Dora'],
      ['shuffled', 'Fay'],
    ] as const) {
      const contactId = contacts[name] ?? '';
      const { ids } = await upgraded.simulate<{ ids: string[] }>(account, 'messages', {
        contactId,
        text: 'New',
      });
      // Only a read of everything, compared with what is stored of it, finds the edit of the oldest message.
      const oldest = await oldestMessage(account, contactId);
      await upgraded.simulate(account, 'messages/edit', { id: oldest, message: 'Edited after years' });
      const seen = await eventually('the new message and the edit are emitted', async () => {
        const later = await laterEvents(account);
        const subjects = ['message.received', 'message.updated'].map((type) =>
          later.filter((event) => event.type === type && event.contactId === contactId).map(messageIdOf),
        );
        return subjects.every(({ length }) => length > 0) && subjects;
      });
      expect(seen).toEqual([ids, [oldest]]);
    }
  });

  it('of a deleted message that returns is an update, and of a deleted contact contact.created', async () => {
    const { contacts, messages } = upgraded.snapshot.names;
    await upgraded.simulate('default', 'messages/restore', { id: messages['deleted'] });
    await upgraded.simulate('default', 'contacts/restore', { contactId: contacts['Hal'] });
    const [updated] = await eventually('both are emitted', async () => {
      const later = await laterEvents('default');
      const found = [
        later.find((event) => event.type === 'message.updated' && messageIdOf(event) === messages['deleted']),
        later.find((event) => event.type === 'contact.created' && event.contactId === contacts['Hal']),
      ];
      return found.every((event) => event !== undefined) && found;
    });
    expect(updated?.data['changes']).toEqual({ deleted: { from: true, to: false } });
  });

  it('after an earlier cursor are exactly the later ones, in sequence without a gap', async () => {
    for (const account of ACCOUNTS) {
      const before = formerEvents(account);
      const all = await eventsFrom(account, '/v1/events?limit=1000');
      const later = await laterEvents(account);
      const ids = all.map(({ id }) => id);
      expect(ids.slice(0, before.length)).toEqual(before.map(({ id }) => id));
      expect(ids.slice(before.length, before.length + later.length)).toEqual(later.map(({ id }) => id));
      expectNoGaps(all, 1);
    }
  });

  it('have each contact created, and each message received, once', async () => {
    for (const account of ACCOUNTS) {
      const all = await eventsFrom(account, '/v1/events?limit=1000');
      const received = all.filter(({ type }) => type === 'message.received').map(messageIdOf);
      expect(new Set(received).size).toBe(received.length);
      const { Hal } = upgraded.snapshot.names.contacts;
      const created = all.filter(({ type, contactId }) => type === 'contact.created' && contactId !== Hal);
      expect(new Set(created.map(({ contactId }) => contactId)).size).toBe(created.length);
    }
  });
});

describe('on the stored data of an old build, the webhooks', () => {
  it.each(['ordered', 'filtered', 'hanging', 'failing', 'of another account'])(
    '"%s": gets its pending deliveries with the ids that they had, signed with the secret that it had',
    async (name) => {
      const pending = pendingOf(name);
      expect(pending.length).toBeGreaterThan(0);
      for (const before of pending) {
        await eventually(`${before.eventId} arrives`, () =>
          receiverOf(name).events.some(({ id }) => id === before.eventId),
        );
        const delivery = await eventually('it succeeded', async () => {
          const now = await upgraded.json<Delivery>(
            ...['GET', `/v1/deliveries/${before.id}`, undefined, accountOf(name)],
          );
          return now.status === 'succeeded' && now;
        });
        expect(delivery.attempts.slice(0, before.attempts.length)).toEqual(before.attempts);
      }
      expect(receiverOf(name).forged).toEqual([]);
    },
  );

  it('that are ordered get each contact’s events in sequence', async () => {
    await nextReceived('ordered', 'Ben');
    const { events } = receiverOf('ordered');
    // An event may be delivered twice.
    expectNoGaps(events.filter(({ id }, i) => events.findIndex((event) => event.id === id) === i));
  });

  it('get the event that no worker had dispatched', async () => {
    const id = upgraded.snapshot.names.sends['cancelled without a worker'];
    await eventually('the event arrives', () =>
      receiverOf('live')
        .ofType('send.cancelled')
        .some(({ data }) => (data['send'] as Send).id === id),
    );
  });

  it('keep their filter and headers', async () => {
    const { contacts } = upgraded.snapshot.names;
    await nextReceived('filtered', 'Ann');
    const { events, headers } = receiverOf('filtered');
    expect(new Set(events.map(({ contactId }) => contactId))).toEqual(new Set([contacts['Ann']]));
    expect(events.filter(({ type }) => !type.startsWith('message.'))).toEqual([]);
    expect(headers).toMatchObject({ authorization: 'Bearer of the subscriber', 'x-team': 'north' });
  });

  it('that were disabled get what they missed by a replay', async () => {
    const path = `/v1/webhooks/${webhookId('off')}`;
    expect(receiverOf('off').events).toEqual([]);
    const { updatedAt } = upgraded.answersTo<{ updatedAt: string }>(new RegExp(`${path}$`))[0] ?? {};
    await upgraded.json('PATCH', path, { enabled: true });
    await upgraded.json('POST', `${path}/replay`, { since: updatedAt, only: 'missed' });
    const missed = formerEvents('default').filter(
      ({ type, timestamp }) => type === 'message.received' && timestamp > (updatedAt ?? ''),
    );
    expect(missed.length).toBeGreaterThan(0);
    for (const { id } of missed)
      await eventually('it arrives', () => receiverOf('off').events.some((event) => event.id === id));
  });
});

function webhookId(name: string): string {
  return upgraded.snapshot.names.webhooks[name] ?? '';
}

/** The account of a webhook. */
function accountOf(name: string): string {
  return name === 'of another account' ? 'oldest' : 'default';
}

function receiverOf(name: string): WebhookReceiver {
  const receiver = receivers.get(name);
  if (receiver === undefined) throw new Error(`no receiver ${name}`);
  return receiver;
}

/** The deliveries of a webhook that were pending in the old build. */
function pendingOf(name: string): Delivery[] {
  const pages = upgraded.answersTo<{ deliveries: Delivery[] }>(
    ...([new RegExp(`/${webhookId(name)}/deliveries`), accountOf(name)] as const),
  );
  return pages.flatMap(({ deliveries }) => deliveries).filter(({ status }) => status === 'pending');
}

async function becomes(name: string, statuses: readonly string[], account = 'default'): Promise<Send> {
  const id = upgraded.snapshot.names.sends[name] ?? '';
  return await eventually(`the send is ${statuses.join(' or ')}`, async () => {
    const send = await upgraded.json<Send>('GET', `/v1/sends/${id}`, undefined, account);
    return statuses.includes(send.status) && send;
  });
}

function becomesSent(name: string, account = 'default'): Promise<Send> {
  return becomes(name, ['sent', 'delivered'], account);
}

/** What the account's upstream ever took, in its order, before and after the upgrade. */
async function posts(account = 'default'): Promise<AcceptedSend[]> {
  const ledger = { kind: 'send.accepted' };
  return (await upgraded.simulate<{ entries: AcceptedSend[] }>(account, 'ledger', ledger)).entries;
}

async function postsOf(name: string, account = 'default'): Promise<AcceptedSend[]> {
  return (await posts(account)).filter(({ message }) => message === name);
}

async function oldestMessage(account: string, contactId: string): Promise<string> {
  const state = await upgraded.simulate<{ contacts: { messages: { id: string }[] }[] }>(account, 'state', {
    contactId,
  });
  return state.contacts[0]?.messages[0]?.id ?? '';
}

/** A message of a contact arrives, and its event at this webhook. */
async function nextReceived(webhook: string, contact: string): Promise<ReceivedEvent> {
  const contactId = upgraded.snapshot.names.contacts[contact];
  const { ids } = await upgraded.simulate<{ ids: string[] }>('default', 'messages', { contactId });
  return await eventually('the event arrives', () =>
    receiverOf(webhook).events.find(
      (event) => event.type === 'message.received' && messageIdOf(event) === ids[0],
    ),
  );
}

function messageIdOf({ data }: ReceivedEvent): string {
  return (data['message'] as { id: string }).id;
}

function formerPages(account: string): { events: ReceivedEvent[]; next: string }[] {
  return upgraded.answersTo(/^\/v1\/events/, account);
}

function formerEvents(account: string): ReceivedEvent[] {
  return formerPages(account).flatMap(({ events }) => events);
}

/** The events after the cursor with which the old build answered last. */
async function laterEvents(account: string): Promise<ReceivedEvent[]> {
  const cursor = formerPages(account).at(-1)?.next ?? '';
  return await eventsFrom(account, `/v1/events?limit=1000&after=${cursor}`);
}

async function eventsFrom(account: string, path: string): Promise<ReceivedEvent[]> {
  return (await upgraded.json<{ events: ReceivedEvent[] }>('GET', path, undefined, account)).events;
}

/** @param first sequence of a contact's, and of the account's, first event; left out: any */
function expectNoGaps(events: readonly ReceivedEvent[], first?: number): void {
  const lanes = new Map<string, number[]>();
  for (const { contactId = 'account', sequence } of events)
    lanes.set(contactId, [...(lanes.get(contactId) ?? []), sequence]);
  for (const sequences of lanes.values()) {
    const start = first ?? sequences[0] ?? 0;
    expect(sequences).toEqual(sequences.map((_, i) => start + i));
  }
}
