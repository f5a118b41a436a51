// An upstream that answers at once: its contact list and all pages of messages are prepared, so that it takes as little
// of the machine as possible. Nothing ever changes.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveRequests } from '../program.js';

/** What the upstream shows. */
export interface UpstreamSettings {
  contacts: number;
  /** Number of messages of each contact: at most what fits on a page. */
  messages: number;
}

/** Reply to each request of the benchmark. */
export interface UpstreamReport {
  port: number;
  /** Number of pages of messages that were read since the start. */
  pages: number;
  /** Number of contact lists that were read since the start. */
  lists: number;
}

/** Age of the newest message, in milliseconds: its flags are final. */
const AGE_MS = 30 * 86_400_000;

serveRequests(async ({ contacts, messages }: UpstreamSettings) => {
  const ids = Array.from({ length: contacts }, (_, n) => `con_${String(n).padStart(10, '0')}`);
  const list = Buffer.from(JSON.stringify({ contacts: ids.map((id, n) => ({ id, name: `Contact ${n}` })) }));
  const newest = Date.now() - AGE_MS;
  const pages = new Map(
    ids.map((id, n) => [id, Buffer.from(JSON.stringify({ messages: messagesOf(id, n, messages, newest) }))]),
  );
  const empty = Buffer.from(JSON.stringify({ messages: [] }));
  const counts = { pages: 0, lists: 0 };
  const server = createServer((request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const [, , , contactId] = path.split('/');
    let body: Buffer | undefined = list;
    if (contactId === undefined) counts.lists += 1;
    else {
      counts.pages += 1;
      body = new URLSearchParams(query).get('page') === '1' ? pages.get(contactId) : empty;
    }
    response.writeHead(body === undefined ? 404 : 200, {
      'Content-Type': 'application/json',
      'Content-Length': body?.length ?? 0,
    });
    response.end(body);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return (): UpstreamReport => ({ port, ...counts });
});

function messagesOf(contactId: string, contact: number, count: number, newest: number): object[] {
  const number = `+1415${String(1_000_000 + contact)}`;
  return Array.from({ length: count }, (_, n) => ({
    id: `msg_${contactId.slice(4)}${String(n).padStart(6, '0')}`,
    direction: n % 2 === 0 ? 'inbound' : 'outbound',
    from: n % 2 === 0 ? number : '+14155550000',
    to: n % 2 === 0 ? '+14155550000' : number,
    message: `Message ${n}: your parcel is at the door, and the neighbour has the key.`,
    timestamp: new Date(newest - n * 60_000).toISOString(),
    service: 'iMessage',
    attachments: [],
    status: { delivered: true, read: true },
  }));
}
