import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';

const LATE_MS = 30_000;
/** Two times, so that a text may be late within its own while a file is over its own. */
const TIMES = { UPSTREAM_TIMEOUT_MS: '800', SEND_CONFIRM_MS: '45000', SEND_CONFIRM_MEDIA_MS: '6000' };

interface SendView {
  status: string;
  contactId: string | null;
  messageId: string | null;
  reason: string | null;
}
interface Accepted {
  phoneNumber: string;
  message: string | null;
  messageIds: string[];
  /** When, in milliseconds since 1970. */
  time: number;
}
interface Told {
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
} as const;
const TEXT = 'Your table is ready.';
const FILE_URL = 'https://files.example/menu.png';
const TYPED = `"Don't" -- she said - 'wait'...`;

let running: Product | undefined;
let product: Product;

/** What upstream took for a recipient, in order, whatever it said to that. */
async function taken(phoneNumber: string): Promise<Accepted[]> {
  const { entries } = await product.simulate<{ entries: Accepted[] }>('ledger', { kind: 'send.accepted' });
  return entries.filter((entry) => entry.phoneNumber === phoneNumber);
}
/** How long after upstream took it a message was shown, in milliseconds. */
async function shownAfterMs({ time, messageIds: [id] }: Accepted): Promise<number> {
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
/** What upstream took is in its hands: from now on its knobs may change for others. */
function untilTaken(phoneNumber: string, count: number): Promise<Accepted[]> {
  return eventually('upstream took it', async () => {
    const all = await taken(phoneNumber);
    return all.length === count && all;
  });
}
async function told(types: string): Promise<Told[]> {
  return (await product.json<{ events: Told[] }>('GET', `/v1/events?types=${types}&limit=1000`)).events;
}
/** `message.sent` of a recipient's contact: the message's id and its send's. */
async function sightings(contactId: string | null): Promise<[string | undefined, string | undefined][]> {
  const events = (await told('message.sent')).filter((event) => event.contactId === contactId);
  return events.map(({ data }) => [data.message?.id, data.sendId]);
}
async function sendEvents(id: string): Promise<string[]> {
  return (await told('send.*')).filter(({ data }) => data.send?.id === id).map(({ type }) => type);
}

/** The sends whose messages take their time. */
const late: Record<'late' | 'overdue' | 'ambiguous', string> = { late: '', overdue: '', ambiguous: '' };

beforeAll(async () => {
  product = running = await Product.start(TIMES);
  await product.simulate('settings', { splitTextAndFile: true, rewriteQuotes: true });
  // Those that wait for half a minute begin, all at once; the other cases run meanwhile.
  await product.simulate('settings', { sendVisibleDelayMs: LATE_MS });
  late.late = await post({ phoneNumber: NUMBERS.late, message: TEXT });
  await untilTaken(NUMBERS.late, 1);
  await product.simulate('settings', { sendVisibleDelayMs: 12_000 });
  await product.simulate('faults', [
    { match: { method: 'POST', phoneNumber: NUMBERS.ambiguous }, fault: 'timeoutAfter' },
  ]);
  late.overdue = await post({ phoneNumber: NUMBERS.overdue, fileUrl: FILE_URL });
  late.ambiguous = await post({ phoneNumber: NUMBERS.ambiguous, fileUrl: FILE_URL });
  await untilTaken(NUMBERS.overdue, 1);
  await untilTaken(NUMBERS.ambiguous, 1);
  await product.simulate('settings', { sendVisibleDelayMs: 100 });
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

describe('a send and its message', () => {
  it('two identical texts within a minute are two messages, bound in order', async () => {
    const phoneNumber = NUMBERS.twice;
    const ids = [await post({ phoneNumber, message: TEXT }), await post({ phoneNumber, message: TEXT })];
    const sends = await Promise.all(ids.map((id) => until(id, 'delivered')));
    const messages = (await taken(phoneNumber)).flatMap(({ messageIds }) => messageIds);
    expect(messages).toHaveLength(2);
    expect(sends.map(({ messageId }) => messageId)).toEqual(messages);
    expect(await sightings(sends[0]?.contactId ?? null)).toEqual([
      [messages[0], ids[0]],
      [messages[1], ids[1]],
    ]);
  });

  it('the owner types the same text by phone: nothing is sent twice, both are told, one with the send', async () => {
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
    const accepted = await untilTaken(phoneNumber, 1);
    const both = [...ids, ...accepted.flatMap(({ messageIds }) => messageIds)];
    expect(both).toHaveLength(2);
    expect(both).toContain(send.messageId);
    const seen = await eventually('both are told', async () => {
      const all = (await sightings(send.contactId)).filter(([message]) => both.includes(message ?? ''));
      return all.length >= 2 && all;
    });
    expect(seen.map(([message]) => message).sort()).toEqual(both.sort());
    expect(seen.filter(([, sendId]) => sendId !== undefined)).toEqual([[send.messageId, id]]);
    expect(await sendEvents(id)).toEqual(['send.accepted', 'send.sent']);
  });

  it('text and file shown as two messages: the text is the send, and both are told', async () => {
    const phoneNumber = NUMBERS.split;
    const id = await post({ phoneNumber, message: TEXT, fileUrl: FILE_URL });
    const send = await until(id, 'delivered');
    const [only, ...more] = await taken(phoneNumber);
    expect(more).toEqual([]);
    expect(only?.messageIds).toHaveLength(2);
    expect(send.messageId).toBe(only?.messageIds[0]);
    const seen = await eventually('both are told', async () => {
      const all = await sightings(send.contactId);
      return all.length >= 2 && all;
    });
    expect(seen.map(([message]) => message).sort()).toEqual([...(only?.messageIds ?? [])].sort());
    expect(seen.find(([message]) => message === send.messageId)?.[1]).toBe(id);
  });

  it('quotes, dashes and dots that are rewritten on the way do not hide it', async () => {
    const id = await post({ phoneNumber: NUMBERS.quotes, message: TYPED });
    const send = await until(id, 'delivered');
    const [only] = await taken(NUMBERS.quotes);
    expect(send.messageId).toBe(only?.messageIds[0]);
    const [event] = (await told('message.sent')).filter(({ data }) => data.sendId === id);
    expect(event?.data.message?.message).toBe('“Don’t” — she said – ‘wait’…');
  });

  it('one that shows up after its time was over: told as unconfirmed, and bound all the same', async () => {
    const send = await until(late.overdue, 'delivered', 30_000);
    const accepted = await taken(NUMBERS.overdue);
    expect(accepted.map(({ messageIds }) => messageIds)).toEqual([[send.messageId]]);
    expect(await sendEvents(late.overdue)).toEqual(['send.accepted', 'send.unconfirmed', 'send.sent']);
  });

  it('one of an ambiguous send that shows up after the time was over: unknown, later sent, never repeated', async () => {
    const send = await until(late.ambiguous, 'delivered', 30_000);
    const accepted = await taken(NUMBERS.ambiguous);
    expect(accepted.map(({ messageIds }) => messageIds)).toEqual([[send.messageId]]);
    expect(await sendEvents(late.ambiguous)).toEqual(['send.unknown', 'send.sent']);
  });

  it('one that shows up half a minute late, within its time: sent, and nobody was alarmed', async () => {
    const send = await until(late.late, 'delivered', 45_000);
    const accepted = await taken(NUMBERS.late);
    expect(accepted.map(({ messageIds }) => messageIds)).toEqual([[send.messageId]]);
    for (const one of accepted) expect(await shownAfterMs(one)).toBeGreaterThanOrEqual(LATE_MS - 100);
    expect(await sendEvents(late.late)).toEqual(['send.accepted', 'send.sent']);
  });
});
