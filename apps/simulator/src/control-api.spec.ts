import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSimulator } from './testing/running-simulator.js';
import { eventually, onlyContactId, startSimulator } from './testing/running-simulator.js';

let running: RunningSimulator;

beforeEach(async () => {
  running = await startSimulator();
});

afterEach(() => running.stop());

const control = (verb: string, body?: unknown): Promise<{ status: number; body: unknown }> =>
  running.control(verb, body);

async function newestMessage(): Promise<Record<string, unknown> | undefined> {
  const page = (await running.getJson(`/contacts/${onlyContactId(running)}/messages`)) as {
    messages: Record<string, unknown>[];
  };
  return page.messages[0];
}

const kinds = (): string[] =>
  running.simulator.ledger
    .read()
    .entries.map(({ kind }) => kind)
    .filter((kind) => /^(message|contact)\./.test(kind));

describe('the control API of the simulator', () => {
  it.each([
    ['settings', { order: 'sideways' }, 'order'],
    ['settings', { autoReply: { delay: 1 } }, 'autoReply.delay'],
    ['contacts', { phoneNumber: '555' }, 'phoneNumber'],
    ['contacts', { contacts: [{ phoneNumber: '+15551' }, { phoneNumber: 'x' }] }, 'contacts[1].phoneNumber'],
    ['contacts/delete', {}, 'contactId'],
    ['messages', { text: 'x' }, 'contactId'],
    ['messages', { from: '+15551', tezt: 'x' }, 'tezt'],
    ['faults', [{ fault: { kind: 'status', staus: 500 } }], 'faults[0].fault.staus'],
    ['faults', { fault: 'explode' }, 'fault.kind'],
    ['faults', { match: { path: '(' }, fault: 'html' }, 'match.path'],
    ['faults', { match: { phoneNumber: '+15551' }, fault: 'resetDuringUpload' }, 'match.phoneNumber'],
    ['faults', { match: { contactId: 'con_1' }, fault: 'resetDuringUpload' }, 'match.contactId'],
    ['faults', { match: { method: 'GET' }, fault: 'resetDuringUpload' }, 'match.method'],
    ['faults', { fault: { kind: 'status', retryAfter: '1\n' } }, 'fault.retryAfter'],
    ['faults', { fault: { kind: 'status', contentType: 'text/html\r\nx: y' } }, 'fault.contentType'],
    ['faults', { fault: { kind: 'status', location: '/€' } }, 'fault.location'],
    ['advance', { ms: 1 }, 'ms'],
    ['reset', { seed: -1 }, 'seed'],
    ['typing', [], 'body'],
  ])('rejects the request %s with the body %j and names the field', async (verb, body, field) => {
    const reply = await control(verb, body);
    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_input', field } });
  });

  it('returns 404 for an unknown contact or an unknown operation', async () => {
    expect(await control('typing', { contactId: 'x', message: 'y' })).toMatchObject({
      status: 404,
      body: { field: 'contactId' },
    });
    expect((await control('frobnicate')).status).toBe(404);
  });

  it('creates contacts with given phone numbers, ids and fields, or a given number of contacts', async () => {
    const made = await control('contacts', {
      phoneNumber: '+15551',
      name: 'Ada',
      id: 'any;-;+1/id',
      vip: true,
    });
    expect(made.body).toMatchObject({
      contacts: [{ id: 'any;-;+1/id', phoneNumber: '+15551', name: 'Ada' }],
    });
    const { contacts } = (await running.getJson('/contacts')) as { contacts: unknown[] };
    expect(contacts).toEqual([{ id: 'any;-;+1/id', name: 'Ada', phoneNumber: '+15551', vip: true }]);
    expect((await running.get(`/contacts/${encodeURIComponent('any;-;+1/id')}/messages`)).status).toBe(200);
    await control('contacts', { count: 200 });
    expect(running.simulator.core.world.contacts.listed()).toHaveLength(201);
    expect((await control('contacts', { phoneNumber: '+15551' })).status).toBe(400);
  });

  it.each([
    ['phoneNumber', 'used', { phoneNumber: '+15551' }],
    ['id', 'used', { phoneNumber: '+15553', id: 'used' }],
    ['phoneNumber', 'in the list twice', { phoneNumber: '+15552' }],
    ['id', 'in the list twice', { phoneNumber: '+15553', id: 'new' }],
  ])('creates no contact of a list if one of the contacts has a %s that is %s', async (field, _, last) => {
    await control('contacts', { phoneNumber: '+15551', id: 'used' });
    const first = { phoneNumber: '+15552', id: 'new' };
    expect(await control('contacts', { contacts: [first, last] })).toMatchObject({
      status: 400,
      body: { field: `contacts[1].${field}` },
    });
    expect(running.simulator.core.world.contacts.listed()).toHaveLength(1);
  });

  it('deletes and restores a contact with its messages', async () => {
    await control('messages', { from: '+15551', text: 'kept' });
    const contactId = onlyContactId(running);
    await control('contacts/delete', { contactId });
    expect((await running.get(`/contacts/${contactId}/messages`)).status).toBe(404);
    expect(await running.getJson('/contacts')).toEqual({ contacts: [] });
    await control('contacts/restore', { contactId });
    expect(await newestMessage()).toMatchObject({ message: 'kept' });
    expect(kinds()).toEqual(['contact.created', 'message.created', 'contact.deleted', 'contact.restored']);
  });

  it('gives a contact a new id and keeps its messages', async () => {
    await control('messages', { from: '+15551', text: 'kept' });
    const contactId = onlyContactId(running);
    await control('contacts/renumber-id', { contactId });
    expect(onlyContactId(running)).not.toBe(contactId);
    expect((await running.get(`/contacts/${contactId}/messages`)).status).toBe(404);
    expect(await newestMessage()).toMatchObject({ message: 'kept' });
  });

  it('changes, deletes and restores a message, and records each change once', async () => {
    const { body } = await control('messages', {
      from: '+15551',
      direction: 'outbound',
      text: 'a',
      service: 'SMS',
    });
    const id = (body as { ids: string[] }).ids[0];
    await control('messages/flags', { id, read: true });
    await control('messages/flags', { id, read: true });
    expect(await newestMessage()).toMatchObject({ status: { read: true, delivered: false }, service: 'SMS' });
    await control('messages/edit', { id, message: 'b', reaction: { emoji: '👍' } });
    expect(await newestMessage()).toMatchObject({ message: 'b', reaction: { emoji: '👍' } });
    await control('messages/delete', { id });
    expect(await newestMessage()).toBeUndefined();
    await control('messages/restore', { id });
    expect(await newestMessage()).toMatchObject({ id, message: 'b' });
    expect(kinds().slice(2)).toEqual([
      'message.changed',
      'message.changed',
      'message.deleted',
      'message.restored',
    ]);
  });

  it('creates many messages at once, messages with old timestamps, and messages with undocumented directions', async () => {
    const { body } = await control('messages', {
      from: '+15551',
      count: 3,
      text: 'n{n}',
      direction: 'system',
    });
    expect((body as { ids: string[] }).ids).toHaveLength(3);
    await control('messages', { from: '+15551', text: 'old', timestamp: '2001-01-01T00:00:00Z' });
    expect(await newestMessage()).toMatchObject({ message: 'n3', direction: 'system' });
  });

  it('creates no message if the timestamp of the last one would exceed the latest time of a JavaScript date', async () => {
    const last = 8_640_000_000_000_000;
    const messages = { from: '+15551', count: 3, intervalMs: 1_000 };
    expect(await control('messages', { ...messages, timestamp: last - 1_999 })).toMatchObject({
      status: 400,
      body: { field: 'timestamp' },
    });
    expect(running.simulator.control('state')).toMatchObject({ contacts: [] });
    expect((await control('messages', { ...messages, timestamp: last - 2_000 })).status).toBe(200);
  });

  it('sends a message in the name of a contact, and marks messages as read', async () => {
    await running.send({ phoneNumber: '+15551', message: 'Hello' });
    const contactId = onlyContactId(running);
    expect((await control('messages/read', { contactId })).body).toMatchObject({ ids: [expect.any(String)] });
    expect(await newestMessage()).toMatchObject({ status: { read: true, delivered: true } });
    await control('typing', { contactId, message: 'Hi' });
    expect(await newestMessage()).toMatchObject({ direction: 'inbound', message: 'Hi', from: '+15551' });
  });

  it('runs each scheduled action at its time when the manual clock is advanced', async () => {
    await control('reset', {
      now: '2030-01-01T00:00:00Z',
      settings: { clock: 'manual', sendVisibleDelayMs: 1_000, deliveredDelayMs: 1_000 },
    });
    await running.send({ phoneNumber: '+15551', message: 'x' });
    expect(await newestMessage()).toBeUndefined();
    await control('advance', { ms: 999 });
    expect(await newestMessage()).toBeUndefined();
    await control('advance', { ms: 1 });
    expect(await newestMessage()).toMatchObject({
      timestamp: '2030-01-01T00:00:01.000Z',
      status: { delivered: false },
    });
    await control('advance', { ms: 3_600_000 });
    expect(await newestMessage()).toMatchObject({ status: { delivered: true } });
  });

  it('creates the same ids again after a reset with the same seed', async () => {
    const ids = async (): Promise<unknown> => {
      await control('reset', { seed: 7 });
      await control('messages', { from: '+15551', count: 2 });
      await running.send({ phoneNumber: '+15552', message: 'x' });
      const { contacts } = running.simulator.control('state') as {
        contacts: { id: string; messages: object[] }[];
      };
      return contacts.map(({ id, messages }) => [
        id,
        messages.map((message) => ('id' in message ? message.id : null)),
      ]);
    };
    expect(await ids()).toEqual(await ids());
  });

  it('simulates a replaced upstream: removes all contacts and messages, or gives all of them new ids', async () => {
    await control('messages', { from: '+15551', text: 'kept' });
    const before = onlyContactId(running);
    await control('upstream-replaced', { keep: 'everything' });
    expect(onlyContactId(running)).not.toBe(before);
    expect(await newestMessage()).toMatchObject({ message: 'kept' });
    await control('upstream-replaced');
    expect(await running.getJson('/contacts')).toEqual({ contacts: [] });
    expect(kinds()).not.toContain('contact.deleted');
  });

  it('returns ledger entries (records of what happened) by index and kind, with POST and with GET', async () => {
    await control('messages', { from: '+15551', count: 5 });
    const first = (await control('ledger', { kind: 'message.*', limit: 2 })).body as {
      entries: unknown[];
      next: number;
    };
    expect(first).toMatchObject({ hasMore: true, dropped: 0 });
    const rest = await fetch(`${running.url}/_simulator/ledger?kind=message.created&since=${first.next}`);
    expect(((await rest.json()) as { entries: unknown[] }).entries).toHaveLength(3);
    await control('ledger/clear');
    expect((await control('ledger')).body).toMatchObject({ entries: [], next: 0 });
  });

  it('drops the oldest entries of a full ledger (the record of what happened), and counts the dropped entries', async () => {
    await control('settings', { ledgerLimit: 10 });
    await control('messages', { from: '+15551', count: 100 });
    const page = running.simulator.ledger.read();
    expect(page.entries.length).toBeLessThanOrEqual(10);
    expect(page.dropped).toBe(page.first);
    expect(page.first + page.entries.length).toBe(page.next);
  });
});

describe('the phone page of the simulator', () => {
  it('contains the data-testid attributes that tests use, and its content security policy allows only its own scripts', async () => {
    const reply = await fetch(running.url);
    expect(reply.headers.get('content-security-policy')).toContain("script-src 'self'");
    const html = await reply.text();
    for (const hook of ['conversation', 'composer', 'send', 'mark-read'])
      expect(html).toContain(`data-testid="${hook}"`);
    expect((await fetch(`${running.url}/phone.js`)).status).toBe(200);
    expect((await fetch(`${running.url}/phone.css`)).status).toBe(200);
  });

  it('receives changes as they happen', async () => {
    const reply = await fetch(`${running.url}/_simulator/phone/stream`);
    const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
    await control('messages', { from: '+15551', text: 'x' });
    let received = '';
    await eventually(async () => {
      received += (await reader?.read())?.value ?? '';
      return received.includes(onlyContactId(running));
    });
    await reader?.cancel();
    const shown = await fetch(`${running.url}/_simulator/phone/messages?contactId=${onlyContactId(running)}`);
    expect(await shown.json()).toMatchObject({ messages: [{ text: 'x', direction: 'inbound' }] });
    expect((await fetch(`${running.url}/_simulator/phone/messages?contactId=gone`)).status).toBe(404);
  });
});
