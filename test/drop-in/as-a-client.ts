import { expect } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import type { GeneratedClient } from './generated-client.js';

interface Message {
  id: string;
  to: string;
  direction: string;
  message: string;
  attachments: object[];
  status: { read: boolean; delivered: boolean };
}

/** Content of the uploaded file. */
export const FILE = Buffer.from(Array.from({ length: 5_000 }, (_, i) => i % 251));

/**
 * Uses the messaging service as a typical client does. Written from the interface description alone, so it works with
 * every server that has this interface.
 * @param wrong a client for the same address with an invalid API key
 */
export async function exerciseClient(
  client: GeneratedClient,
  wrong: GeneratedClient,
  phoneNumber: string,
): Promise<void> {
  const send = (
    parts: Readonly<Record<string, string | Blob>>,
  ): Promise<{ status: string; message: string }> => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ phoneNumber, ...parts })) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, value, 'voice.caf');
    }
    return client.call('sendMessage', {}, form);
  };

  const queued = await send({ type: 'text', message: 'First 👋🏽 & "last"' });
  expect(queued.status).toBe('queued');
  expect(queued.message).not.toBe('');
  const id = await eventually('the recipient is a contact', () => contactOf(client, phoneNumber));

  await send({ message: 'Without a type' });
  await send({ type: 'audio', fileUrl: 'https://files.example.com/voice.caf?a=1&b=2' });
  await send({ type: 'audio', file: new Blob([FILE], { type: 'audio/x-caf' }) });
  await send({ type: 'text', message: 'With more', priority: 'high' });

  const all = await eventually('all messages are delivered', async () => {
    const { messages } = await pageOf(client, { id });
    return messages.length === 5 && messages.every(({ status }) => status.delivered) && messages;
  });
  expect(
    all
      .map(({ message }) => message)
      .filter((text) => text !== '')
      .sort(),
  ).toEqual(['First 👋🏽 & "last"', 'With more', 'Without a type']);
  expect(all.filter(({ attachments }) => attachments.length === 1)).toHaveLength(2);
  expect(new Set(all.map(({ to, direction }) => `${direction} to ${to}`))).toEqual(
    new Set([`outbound to ${phoneNumber}`]),
  );
  // Fields that are missing from the description are still returned.
  expect(all.every((message) => 'conversationId' in message)).toBe(true);

  const pages = await Promise.all([1, 2, 3, 4].map((page) => pageOf(client, { id, page, limit: 2 })));
  expect(pages.map(({ messages }) => messages.length)).toEqual([2, 2, 1, 0]);
  expect(pages.flatMap(({ messages }) => messages)).toEqual(all);
  const everything = await pageOf(client, { id, page: 1, limit: 20 });
  expect(everything.messages).toEqual(all);

  expect((await client.ask('listMessages', { id: 'nobody' })).status).toBe(404);
  for (const operation of ['listContacts', 'listMessages'])
    expect((await wrong.ask(operation, { id })).status).toBe(401);
  const refused = new FormData();
  refused.append('phoneNumber', phoneNumber);
  refused.append('message', 'Never');
  expect((await wrong.ask('sendMessage', {}, refused)).status).toBe(401);
}

/** The contacts in a list or in an object: the description leaves the format open. */
export function contactsIn(body: unknown): Record<string, unknown>[] {
  if (Array.isArray(body)) return body as Record<string, unknown>[];
  const list = Object.values(body as object).find((value) => Array.isArray(value)) as unknown;
  return list as Record<string, unknown>[];
}

async function contactOf(client: GeneratedClient, phoneNumber: string): Promise<string | undefined> {
  for (const { id } of contactsIn(await client.call('listContacts', {}))) {
    const { messages } = await pageOf(client, { id: String(id) });
    if (messages.some(({ to }) => to === phoneNumber)) return String(id);
  }
  return undefined;
}

function pageOf(
  client: GeneratedClient,
  parameters: Readonly<Record<string, string | number>>,
): Promise<{ messages: Message[] }> {
  return client.call('listMessages', parameters);
}
