import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  HttpUpstream,
  type UpstreamAddress,
  UpstreamReplyUnreadableError,
  UpstreamReplyTooLargeError,
  UpstreamStatusError,
  UpstreamTimeoutError,
} from '#upstream';
import { readAll, acceptEveryContact } from '../../support/contact-list.js';
import { eventually } from '../../support/eventually.js';
import { contactIdOf, ListServer } from '../../support/list-server.js';

const MEGABYTE = 1024 * 1024;
/** Timeout for replies that must be aborted, and timeout for slow steps on a busy machine. */
const SHORT_MS = 400;
const LONG_MS = 120_000;

const servers: Server[] = [];
const sockets = new Set<Socket>();
const upstreams: HttpUpstream[] = [];
const lists: ListServer[] = [];

afterEach(async () => {
  for (const upstream of upstreams.splice(0)) upstream.close();
  for (const list of lists.splice(0)) await list.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(servers.splice(0).map((server) => new Promise((closed) => server.close(closed))));
});

async function listen(server: Server): Promise<UpstreamAddress> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, apiKey: 'k' };
}

/** Serves this body to every request. */
const serve = (body: string | Buffer, status = 200): Promise<UpstreamAddress> =>
  listen(createHttpServer((_, response) => response.writeHead(status).end(body)));

/** Serves the same part repeatedly, without an end. */
const serveEndless = (begin: string, part: string): Promise<UpstreamAddress> =>
  listen(
    createHttpServer((_, response: ServerResponse) => {
      response.writeHead(200);
      response.write(begin);
      const more = (): void => {
        while (!response.destroyed && response.write(part));
      };
      response.on('drain', more);
      more();
    }),
  );

/** Writes the beginning, then one byte every 20 ms. */
const drip = (begin: string, rest: string): Promise<UpstreamAddress> =>
  listen(
    createServer((socket) => {
      socket.write(begin);
      let at = 0;
      const dripping = setInterval(() => socket.write(rest[at++ % rest.length] ?? ''), 20);
      socket.on('close', () => {
        clearInterval(dripping);
      });
      socket.resume();
    }),
  );

function upstreamWith(timeoutMs: number): HttpUpstream {
  const upstream = new HttpUpstream(timeoutMs);
  upstreams.push(upstream);
  return upstream;
}

const messages = (count: number): string =>
  `{"messages":[${Array.from({ length: count }, (_, n) => `{"id":${n}}`).join(',')}]}`;

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

describe('a slow reply', () => {
  it.each([
    ['its headers', HEAD, 'X-A: b\r\n'],
    ['its body', `${HEAD}Content-Length: 100000\r\n\r\n{"messages":[`, ' '],
    ['the body of a list', `${HEAD}Content-Length: 100000\r\n\r\n{"contacts":[`, ' '],
    ['the body of an error', 'HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n', 'x'],
  ])(
    'is aborted at the deadline for the whole request, even while bytes of %s still arrive',
    async (_, begin, rest) => {
      const address = await drip(begin, rest);
      const upstream = upstreamWith(SHORT_MS);
      for (const read of [
        () => upstream.listMessages(address, 'c', 1, 20),
        () => upstream.listContacts(address, acceptEveryContact),
      ]) {
        const began = performance.now();
        await expect(read()).rejects.toThrow(UpstreamTimeoutError);
        expect(performance.now() - began).toBeLessThan(SHORT_MS + 2_000);
      }
    },
  );

  it('fails with an error that names the setting UPSTREAM_TIMEOUT_MS, if only a part of the reply arrived', async () => {
    const address = await drip(`${HEAD}Content-Length: 100000\r\n\r\n{"contacts":[`, ' ');
    const upstream = upstreamWith(SHORT_MS);
    await expect(upstream.listContacts(address, acceptEveryContact)).rejects.toThrow('UPSTREAM_TIMEOUT_MS');
  });
});

describe('a page of messages', () => {
  it('with 10,000 elements is read, and with more elements is rejected as too large', async () => {
    const upstream = upstreamWith(LONG_MS);
    const page = await upstream.listMessages(await serve(messages(10_000)), 'c', 1, 20);
    expect(page.items).toHaveLength(10_000);
    const longer = upstream.listMessages(await serve(messages(10_001)), 'c', 1, 20);
    await expect(longer).rejects.toThrow(UpstreamReplyTooLargeError);
  });

  it('with an endless list is aborted after the first 10,000 elements', async () => {
    const upstream = upstreamWith(LONG_MS);
    const reply = upstream.listMessages(await serveEndless('[', '0,'.repeat(1_000)), 'c', 1, 20);
    await expect(reply).rejects.toThrow('more than 10000 elements');
  });

  it('is read without a message whose JSON is nested 4,000 levels deep', async () => {
    const deep = `{"id":"deep","x":${'{"x":'.repeat(4_000)}1${'}'.repeat(4_000)}}`;
    const upstream = upstreamWith(LONG_MS);
    const page = await upstream.listMessages(await serve(`[{"id":"a"},${deep},{"id":"b"}]`), 'c', 1, 20);
    expect(page).toMatchObject({ items: [{ id: 'a' }, { id: 'b' }], skipped: 1 });
  });

  it('without an end is aborted at 16 MB, and its connection is closed', async () => {
    const upstream = upstreamWith(LONG_MS);
    const address = await serveEndless('{"messages":[{"id":1}', ' '.repeat(MEGABYTE));
    await expect(upstream.listMessages(address, 'c', 1, 20)).rejects.toThrow('16777216 bytes');
    await eventually('the connection is closed', () =>
      Promise.resolve([...sockets].every(({ closed }) => closed)),
    );
  });

  it('of 2 MB can be read by ten concurrent requests', async () => {
    const upstream = upstreamWith(LONG_MS);
    const address = await serve(`[{"id":"a","x":"${'x'.repeat(2 * MEGABYTE)}"}]`);
    const pages = await Promise.all(
      Array.from({ length: 10 }, () => upstream.listMessages(address, 'c', 1, 20)),
    );
    expect(pages.map(({ items }) => items.length)).toEqual(Array(10).fill(1));
  });

  it('fails with the status of the reply if the reply is an error of 20 MB', async () => {
    const upstream = upstreamWith(LONG_MS);
    const address = await serve(`{"message":"No way"}${' '.repeat(20 * MEGABYTE)}`, 500);
    await expect(upstream.listMessages(address, 'c', 1, 20)).rejects.toThrow(UpstreamStatusError);
  });
});

it('a reply with more than 1,000 lists in fields that may contain the contacts or messages is rejected as too large, even if the lists are empty', async () => {
  const replyWith = (count: number): string => `{${'"data":[],'.repeat(count - 1)}"contacts":[]}`;
  const upstream = upstreamWith(LONG_MS);
  const list = await readAll(upstream.listContacts(await serve(replyWith(1_000)), acceptEveryContact));
  expect(list.items).toEqual([]);
  // A list of messages is not looked for in the field `contacts`.
  const address = await serve(replyWith(1_002));
  const reading = upstream.listContacts(address, acceptEveryContact);
  await expect(reading).rejects.toThrow(UpstreamReplyTooLargeError);
  await expect(upstream.listMessages(address, 'c', 1, 20)).rejects.toThrow('more than 1000 lists');
});

describe('a contact list', () => {
  it('without an end is aborted at 256 MB, and only a part of it is ever in memory', async () => {
    const upstream = upstreamWith(LONG_MS);
    const contact = `{"id":"a","about":"${'x'.repeat(32 * 1024)}"},`;
    const address = await serveEndless('{"contacts":[', contact);
    const before = process.memoryUsage().rss;
    let seen = 0;
    const list = upstream.listContacts(address, () => ({ receive: () => ++seen < 0 }));
    await expect(list).rejects.toThrow('268435456 bytes');
    expect(seen).toBeGreaterThan(8_000);
    // The sender runs in this process, too.
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * MEGABYTE);
  });

  it('of 20 MB is passed to a callback contact by contact, and the contacts that the callback selects can be read again', async () => {
    const server = await ListServer.start();
    lists.push(server);
    server.list = { count: 20_000, bytes: 1_024, envelope: ['{"total":20000,"data":{"contacts":[', ']}}'] };
    const upstream = upstreamWith(LONG_MS);
    const seen: string[] = [];
    const list = await upstream.listContacts({ baseUrl: server.baseUrl, apiKey: 'k' }, () => ({
      receive: ({ id }, position) => {
        seen.push(id);
        return position % 1_000 === 7;
      },
    }));
    expect(seen).toEqual(Array.from({ length: 20_000 }, (_, n) => contactIdOf(n)));
    const { items, skipped } = await readAll(Promise.resolve(list));
    expect(items.map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, n) => contactIdOf(n * 1_000 + 7)),
    );
    expect(skipped).toBe(0);
  });

  it('is taken from the field `contacts` if a reply has several lists', async () => {
    const upstream = upstreamWith(LONG_MS);
    const address = await serve('{"data":[{"id":"d"}],"contacts":[{"id":"c"},4],"items":[{"id":"i"}]}');
    expect(await readAll(upstream.listContacts(address, acceptEveryContact))).toMatchObject({
      items: [{ id: 'c' }],
      skipped: 1,
    });
  });

  it.each([
    ['in other fields', (n: number) => `"con_${n}" : [{"id":"l"}]`],
    ['in fields of nested objects', (n: number) => `"con_${n}" : {"data":[{"id":"l"}]}`],
  ])(
    'is passed to a reader of contacts, and 100,000 lists %s of the same reply are not',
    async (_, field) => {
      const labels = Array.from({ length: 100_000 }, (_, n) => field(n)).join(',');
      const upstream = upstreamWith(LONG_MS);
      const address = await serve(`{${labels},"contacts" : [{"id":"c"}]}`);
      let readers = 0;
      const list = upstream.listContacts(address, () => {
        readers += 1;
        return acceptEveryContact();
      });
      expect(await readAll(list)).toMatchObject({ items: [{ id: 'c' }] });
      expect(readers).toBe(1);
    },
  );

  it('is rejected as a whole if one contact is invalid JSON', async () => {
    const upstream = upstreamWith(LONG_MS);
    const address = await serve('[{"id":1},{"id":2,}]');
    await expect(upstream.listContacts(address, acceptEveryContact)).rejects.toThrow(
      UpstreamReplyUnreadableError,
    );
  });
});
