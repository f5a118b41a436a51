import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';

const LATE_MS = 30_000;
/** Different deadlines for texts and files, so that at one delay a text is in time and a file is overdue. */
const DEADLINES = { UPSTREAM_TIMEOUT_MS: '800', SEND_CONFIRM_MS: '45000', SEND_CONFIRM_MEDIA_MS: '6000' };

interface SendView {
  status: string;
  contactId: string | null;
  messageId: string | null;
  reason: string | null;
  attempts: object[];
  lookups: { outcome: string; candidates: { messageId: string; sendId: string | null }[] }[];
}
interface Accepted {
  phoneNumber: string;
  message: string | null;
  messageIds: string[];
  /** Time of acceptance, in milliseconds since 1970. */
  time: number;
}
interface SeenEvent {
  type: string;
  contactId?: string;
  data: { sendId?: string; message?: { id: string; message: string }; send?: { id: string } };
}

const NUMBERS = {
  twice: '+14155554001',
  owner: '+14155554002',
  split: '+14155554003',
  quotes: '+14155554004',
  late: '+14155554005',
  overdue: '+14155554006',
  ambiguous: '+14155554007',
  undecided: '+14155554008',
} as const;
const TEXT = 'Your table is ready.';
const FILE_URL = 'https://files.example/menu.png';
const TYPED = `"Don't" -- she said - 'wait'...`;

let running: Product | undefined;
let product: Product;

/** The sends that upstream accepted for a recipient, in order, whatever it replied. */
async function acceptedTexts(phoneNumber: string): Promise<Accepted[]> {
  const { entries } = await product.simulate<{ entries: Accepted[] }>('ledger', { kind: 'send.accepted' });
  return entries.filter((entry) => entry.phoneNumber === phoneNumber);
}
/** Time from the acceptance of a send until upstream showed its message, in milliseconds. */
async function visibleAfterMs({ time, messageIds: [id] }: Accepted): Promise<number> {
  const { entries } = await product.simulate<{ entries: { messageId: string; time: number }[] }>('ledger', {
    kind: 'message.created',
  });
  return (entries.find(({ messageId }) => messageId === id)?.time ?? NaN) - time;
}
async function post(body: object): Promise<string> {
  return (await product.json<{ id: string }>('POST', '/v1/messages/send', body)).id;
}
const view = (id: string): Promise<SendView> => product.json('GET', `/v1/sends/${id}`);
function until(id: string, status: string, deadlineMs = 20_000): Promise<SendView> {
  return eventually(
    `${id} is ${status}`,
    async () => {
      const send = await view(id);
      return send.status === status && send;
    },
    deadlineMs,
  );
}
/** Waits until upstream has accepted the sends: later changes of its settings do not affect them. */
function untilAccepted(phoneNumber: string, count: number): Promise<Accepted[]> {
  return eventually('upstream accepted the sends', async () => {
    const all = await acceptedTexts(phoneNumber);
    return all.length === count && all;
  });
}
async function eventsOfType(types: string): Promise<SeenEvent[]> {
  return (await product.json<{ events: SeenEvent[] }>('GET', `/v1/events?types=${types}&limit=1000`)).events;
}
/** The `message.sent` events of a contact, as pairs of message id and send id. */
async function sightings(contactId: string | null): Promise<[string | undefined, string | undefined][]> {
  const events = (await eventsOfType('message.sent')).filter((event) => event.contactId === contactId);
  return events.map(({ data }) => [data.message?.id, data.sendId]);
}
async function sendEvents(id: string): Promise<string[]> {
  return (await eventsOfType('send.*')).filter(({ data }) => data.send?.id === id).map(({ type }) => type);
}

/** Ids of the sends whose messages appear late. */
const late: Record<'late' | 'overdue' | 'ambiguous', string> = { late: '', overdue: '', ambiguous: '' };

beforeAll(async () => {
  product = running = await Product.start(DEADLINES);
  await product.simulate('settings', { splitTextAndFile: true, rewriteQuotes: true });
  // The slow cases start first, all at once; the other cases run meanwhile.
  await product.simulate('settings', { sendVisibleDelayMs: LATE_MS });
  late.late = await post({ phoneNumber: NUMBERS.late, message: TEXT });
  await untilAccepted(NUMBERS.late, 1);
  await product.simulate('settings', { sendVisibleDelayMs: 12_000 });
  await product.simulate('faults', [
    { match: { method: 'POST', phoneNumber: NUMBERS.ambiguous }, fault: 'timeoutAfter' },
  ]);
  late.overdue = await post({ phoneNumber: NUMBERS.overdue, fileUrl: FILE_URL });
  late.ambiguous = await post({ phoneNumber: NUMBERS.ambiguous, fileUrl: FILE_URL });
  await untilAccepted(NUMBERS.overdue, 1);
  await untilAccepted(NUMBERS.ambiguous, 1);
  await product.simulate('settings', { sendVisibleDelayMs: 100 });
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

describe('a send is bound to its message', () => {
  it('if two identical texts are sent within a minute: the first send is bound to the earlier message, the second send to the later message', async () => {
    const phoneNumber = NUMBERS.twice;
    const ids = [await post({ phoneNumber, message: TEXT }), await post({ phoneNumber, message: TEXT })];
    const sends = await Promise.all(ids.map((id) => until(id, 'delivered')));
    const messages = (await acceptedTexts(phoneNumber)).flatMap(({ messageIds }) => messageIds);
    expect(messages).toHaveLength(2);
    expect(sends.map(({ messageId }) => messageId)).toEqual(messages);
    expect(await sightings(sends[0]?.contactId ?? null)).toEqual([
      [messages[0], ids[0]],
      [messages[1], ids[1]],
    ]);
  });

  it('if someone types the same text on the phone of the account: no duplicate is sent, message.sent is emitted for both messages, and one of them is bound to the send', async () => {
    const phoneNumber = NUMBERS.owner;
    await product.simulate('messages', { direction: 'outbound', phoneNumber, text: 'Hello' });
    const id = await post({ phoneNumber, message: TEXT });
    const { ids } = await product.simulate<{ ids: string[] }>('messages', {
      direction: 'outbound',
      phoneNumber,
      text: TEXT,
      delivered: true,
    });
    const send = await until(id, 'delivered');
    const accepted = await untilAccepted(phoneNumber, 1);
    const both = [...ids, ...accepted.flatMap(({ messageIds }) => messageIds)];
    expect(both).toHaveLength(2);
    expect(both).toContain(send.messageId);
    const seen = await eventually('both messages are emitted', async () => {
      const all = (await sightings(send.contactId)).filter(([message]) => both.includes(message ?? ''));
      return all.length >= 2 && all;
    });
    expect(seen.map(([message]) => message).sort()).toEqual(both.sort());
    expect(seen.filter(([, sendId]) => sendId !== undefined)).toEqual([[send.messageId, id]]);
    expect(await sendEvents(id)).toEqual(['send.accepted', 'send.sent']);
  });

  it('if text and file appear as two messages: the send is bound to the text, and message.sent is emitted for both messages', async () => {
    const phoneNumber = NUMBERS.split;
    const id = await post({ phoneNumber, message: TEXT, fileUrl: FILE_URL });
    const send = await until(id, 'delivered');
    const [only, ...more] = await acceptedTexts(phoneNumber);
    expect(more).toEqual([]);
    expect(only?.messageIds).toHaveLength(2);
    expect(send.messageId).toBe(only?.messageIds[0]);
    const seen = await eventually('both messages are emitted', async () => {
      const all = await sightings(send.contactId);
      return all.length >= 2 && all;
    });
    expect(seen.map(([message]) => message).sort()).toEqual([...(only?.messageIds ?? [])].sort());
    expect(seen.find(([message]) => message === send.messageId)?.[1]).toBe(id);
  });

  it('even if upstream rewrites the quotes, dashes and dots of the text', async () => {
    const id = await post({ phoneNumber: NUMBERS.quotes, message: TYPED });
    const send = await until(id, 'delivered');
    const [only] = await acceptedTexts(NUMBERS.quotes);
    expect(send.messageId).toBe(only?.messageIds[0]);
    // The poll updates the send before it commits the events of the message.
    const event = await eventually('the message is emitted', async () =>
      (await eventsOfType('message.sent')).find(({ data }) => data.sendId === id),
    );
    expect(event.data.message?.message).toBe('“Don’t” — she said – ‘wait’…');
  });

  it('even if the message appears after the confirmation period and send.unconfirmed was already emitted', async () => {
    const send = await until(late.overdue, 'delivered', 30_000);
    const accepted = await acceptedTexts(NUMBERS.overdue);
    expect(accepted.map(({ messageIds }) => messageIds)).toEqual([[send.messageId]]);
    expect(await sendEvents(late.overdue)).toEqual(['send.accepted', 'send.unconfirmed', 'send.sent']);
  });

  it('if the message of an ambiguous send appears after the confirmation period: the status becomes `unknown` and later `sent`, and nothing is sent again', async () => {
    const send = await until(late.ambiguous, 'delivered', 30_000);
    const accepted = await acceptedTexts(NUMBERS.ambiguous);
    expect(accepted.map(({ messageIds }) => messageIds)).toEqual([[send.messageId]]);
    expect(await sendEvents(late.ambiguous)).toEqual(['send.unknown', 'send.sent']);
  });

  it('if the message appears half a minute late but within the confirmation period: the status becomes `sent`, and no send.unconfirmed is emitted', async () => {
    const send = await until(late.late, 'delivered', 45_000);
    const accepted = await acceptedTexts(NUMBERS.late);
    expect(accepted.map(({ messageIds }) => messageIds)).toEqual([[send.messageId]]);
    for (const one of accepted) expect(await visibleAfterMs(one)).toBeGreaterThanOrEqual(LATE_MS - 100);
    expect(await sendEvents(late.late)).toEqual(['send.accepted', 'send.sent']);
  });
});

describe('a send that ends as unknown', () => {
  it('names in its look-ups the two messages that fit the send equally well, without their texts', async () => {
    const phoneNumber = NUMBERS.undecided;
    await product.simulate('messages', { direction: 'outbound', phoneNumber, text: 'Hello' });
    await product.simulate('faults', [
      { match: { method: 'POST', phoneNumber }, fault: 'timeoutAfter' },
      // No message is read until both are shown and the POST has ended. Otherwise the first one would be bound.
      {
        match: { method: 'GET', path: '/messages' },
        fault: { kind: 'status', status: 404 },
        times: 'always',
      },
    ]);
    const id = await post({ phoneNumber, message: TEXT });
    const [accepted] = await untilAccepted(phoneNumber, 1);
    const { ids } = await product.simulate<{ ids: string[] }>('messages', {
      direction: 'outbound',
      phoneNumber,
      text: TEXT,
    });
    if (accepted === undefined) throw new Error('The send was not accepted.');
    await eventually('the message is shown', async () => (await visibleAfterMs(accepted)) >= 0);
    await eventually('the POST has ended', async () => (await view(id)).attempts.length === 1);
    await product.simulate('faults/clear');
    const { lookups, messageId } = await until(id, 'unknown');
    expect(messageId).toBeNull();
    const last = lookups.at(-1);
    expect(last?.outcome).toBe('ambiguous');
    expect(last?.candidates.map((candidate) => candidate.messageId).sort()).toEqual(
      [...ids, ...accepted.messageIds].sort(),
    );
    expect(JSON.stringify(lookups)).not.toContain(TEXT);
  });
});
