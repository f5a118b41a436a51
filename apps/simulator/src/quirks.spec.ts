import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSimulator } from './testing/running-simulator.js';
import { onlyContactId, startSimulator } from './testing/running-simulator.js';

let upstream: RunningSimulator;

beforeEach(async () => {
  upstream = await startSimulator();
  upstream.simulator.control('messages', { from: '+15551234567', count: 30, intervalMs: 1_000 });
});

afterEach(() => upstream.stop());

const changeSettings = (settings: object): object => upstream.simulator.control('settings', settings);
const path = (): string => `/contacts/${onlyContactId(upstream)}/messages`;

async function texts(query = ''): Promise<string[]> {
  const page = (await upstream.getJson(path() + query)) as { messages: { message: string }[] };
  return page.messages.map(({ message }) => message);
}

describe('the settings of the simulator', () => {
  it('can reverse the order of messages', async () => {
    changeSettings({ order: 'oldestFirst' });
    expect(await texts('?limit=2')).toEqual(['Message 1', 'Message 2']);
  });

  it('can shuffle the messages for each read', async () => {
    changeSettings({ order: 'random' });
    const first = await texts('?limit=30');
    const second = await texts('?limit=30');
    expect(first).not.toEqual(second);
    expect(first.toSorted()).toEqual(second.toSorted());
  });

  it('can sort messages by arrival instead of timestamp', async () => {
    upstream.simulator.control('messages', {
      from: '+15551234567',
      text: 'old',
      timestamp: '2001-01-01T00:00:00Z',
    });
    expect((await texts())[0]).toBe('Message 30');
    changeSettings({ sortBy: 'arrival' });
    expect((await texts())[0]).toBe('old');
  });

  it.each(['array', 'contacts', 'data', 'items'])(
    'can set the shape of the contact list to "%s"',
    async (contactsShape) => {
      changeSettings({ contactsShape });
      const body = await upstream.getJson('/contacts');
      const list = contactsShape === 'array' ? body : (body as Record<string, unknown>)[contactsShape];
      expect(list).toHaveLength(1);
    },
  );

  it.each(['messages', 'data', 'items', 'array'])(
    'can set the shape of a page of messages to "%s"',
    async (messagesShape) => {
      changeSettings({ messagesShape });
      const body = await upstream.getJson(path());
      const list = messagesShape === 'array' ? body : (body as Record<string, unknown>)[messagesShape];
      expect(list).toHaveLength(20);
    },
  );

  it('can reduce or ignore the query parameter "limit", and ignore the query parameter "page"', async () => {
    changeSettings({ limitCap: 5 });
    expect(await texts('?limit=50')).toHaveLength(5);
    changeSettings({ limitIgnored: true, limitCap: null });
    expect(await texts('?limit=3')).toHaveLength(20);
    changeSettings({ limitIgnored: false, pageIgnored: true });
    expect(await texts('?page=2&limit=1')).toEqual(['Message 30']);
  });

  it('can answer requests for a page after the last one with an error status', async () => {
    changeSettings({ missingPageStatus: 404 });
    expect(await texts('?page=2&limit=20')).toHaveLength(10);
    expect((await upstream.get(`${path()}?page=3&limit=20`)).status).toBe(404);
  });

  it('can insert a message between two page reads', async () => {
    changeSettings({ insertWhilePaging: 2 });
    await texts('?page=1&limit=10');
    await texts('?page=2&limit=10');
    expect((await texts('?page=3&limit=10'))[0]).toBe('Message 11');
  });

  it('can simulate an outage in which all lists are empty', async () => {
    changeSettings({ outage: true });
    expect(await upstream.getJson('/contacts')).toEqual({ contacts: [] });
    expect(await texts()).toEqual([]);
    changeSettings({ outage: false });
    expect(await texts()).toHaveLength(20);
  });

  it('can pad a page to any size without changing its content', async () => {
    changeSettings({ hugePage: { bytes: 5_000_000 } });
    const body = await (await upstream.get(path())).text();
    expect(Buffer.byteLength(body)).toBe(5_000_000);
    expect((JSON.parse(body) as { messages: unknown[] }).messages).toHaveLength(20);
    changeSettings({ hugePage: { bytes: 100_000, per: 'message' } });
    expect((await (await upstream.get(`${path()}?limit=3`)).text()).length).toBe(300_000);
  });

  it('can write the same timestamp in different formats', async () => {
    const shown = async (timestampFormat: string): Promise<unknown> => {
      changeSettings({ timestampFormat });
      return ((await upstream.getJson(path())) as { messages: { timestamp?: unknown }[] }).messages[0]
        ?.timestamp;
    };
    const iso = String(await shown('iso-Z'));
    const offset = String(await shown('iso-offset'));
    expect(offset).toMatch(/\+02:00$/);
    expect(Date.parse(offset)).toBe(Date.parse(iso));
    expect(await shown('epoch-ms')).toBe(Date.parse(iso));
    expect(await shown('no-millis')).toBe(`${iso.slice(0, 19)}Z`);
    expect(await shown('absent')).toBeUndefined();
  });

  it('can use numbers as ids of contacts and messages, also in URLs', async () => {
    changeSettings({ idType: 'number' });
    await upstream.send({ phoneNumber: '+15557654321', message: 'x' });
    const { contacts } = (await upstream.getJson('/contacts')) as { contacts: { id: unknown }[] };
    const id = contacts[1]?.id;
    expect(typeof id).toBe('number');
    const page = (await upstream.getJson(`/contacts/${String(id)}/messages`)) as {
      messages: { id: unknown }[];
    };
    expect(typeof page.messages[0]?.id).toBe('number');
  });

  it('can change the values of the message fields direction and service, and the format of attachments', async () => {
    changeSettings({
      directionValues: { outbound: 'OUT' },
      serviceValues: ['SMS'],
      attachmentShape: 'strings',
    });
    await upstream.send({ phoneNumber: '+15551234567', message: 'x', fileUrl: 'https://example.com/a.png' });
    const shown = async (): Promise<unknown> =>
      ((await upstream.getJson(path())) as { messages: unknown[] }).messages[0];
    expect(await shown()).toMatchObject({
      direction: 'OUT',
      service: 'SMS',
      attachments: ['https://example.com/a.png'],
    });
    changeSettings({ attachmentShape: 'absent' });
    expect(await shown()).not.toHaveProperty('attachments');
  });

  it('can split text and file into two messages, replace straight quotation marks by curly ones, and lose accepted sends', async () => {
    changeSettings({ splitTextAndFile: true, rewriteQuotes: true });
    const file = new Blob(['x']);
    await upstream.send({ phoneNumber: '+15551234567', message: `"It's" - ok`, file });
    expect((await texts()).slice(0, 2)).toEqual(['', '“It’s” – ok']);
    const [accepted] = upstream.simulator.ledger.read({ kinds: ['send.accepted'] }).entries;
    expect(accepted).toMatchObject({ messageIds: [expect.any(String), expect.any(String)] });
    changeSettings({ sendLostProbability: 1 });
    const before = await texts();
    expect((await upstream.send({ phoneNumber: '+15551234567', message: 'gone' })).status).toBe(200);
    expect(await texts()).toEqual(before);
  });

  it('can add fields such as unreadCount to contacts, and undocumented fields to messages', async () => {
    changeSettings({ extraContactFields: true, extraMessageFields: true, contactPhoneField: null });
    const { contacts } = (await upstream.getJson('/contacts')) as { contacts: object[] };
    expect(contacts[0]).toMatchObject({ unreadCount: 30, lastMessageAt: expect.any(String) });
    expect(contacts[0]).not.toHaveProperty('phoneNumber');
    const page = (await upstream.getJson(path())) as { messages: object[] };
    expect(page.messages[0]).toMatchObject({ revision: 0, conversationId: expect.any(String) });
  });

  it.each([
    ['query', /^https:\/\/a\.example\/f\.jpg\?w=2&Expires=\d+&Signature=[0-9a-f]{32}$/],
    ['path', /^https:\/\/a\.example\/signed-[0-9a-f]{32}\/f\.jpg\?w=2$/],
  ])(
    'can give file URLs a new signature at each read, in the %s of the URL',
    async (signedAddresses, form) => {
      const attachments = [{ id: 'f', url: 'https://a.example/f.jpg?w=2' }];
      upstream.simulator.control('messages', { from: '+15551234567', text: 'x', attachments });
      const shown = async (): Promise<string[]> => {
        const { messages } = (await upstream.getJson(`${path()}?limit=1`)) as {
          messages: { attachments: { url: string }[] }[];
        };
        const { contacts } = (await upstream.getJson('/contacts')) as { contacts: { avatarUrl?: string }[] };
        return [messages[0]?.attachments[0]?.url ?? '', contacts[0]?.avatarUrl ?? ''];
      };
      expect(await shown()).toEqual(['https://a.example/f.jpg?w=2', '']);
      changeSettings({ signedAddresses });
      const [url, avatar] = await shown();
      expect(url).toMatch(form);
      expect(avatar).toContain('https://files.example/');
      const [urlAgain, avatarAgain] = await shown();
      expect(urlAgain).toMatch(form);
      expect([urlAgain, avatarAgain]).not.toEqual([url, avatar]);
    },
  );
});
