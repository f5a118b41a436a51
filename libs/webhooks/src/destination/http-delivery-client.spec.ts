import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { parseNetworks } from '#platform';
import type { DeliveryReply } from '../attempt/delivery-client.js';
import { DestinationGuard } from './destination-guard.js';
import { TEST_CERTIFICATE, TEST_PRIVATE_KEY } from './fixtures/certificate.js';
import { HttpDeliveryClient } from './http-delivery-client.js';
import type { Resolver } from './resolver.js';

const TIMEOUT_MS = 400;
const LOOPBACK = '127.0.0.0/8';

/** Closes what the test opened. Runs after the test in reverse order. */
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Starts a receiver that counts its connections and requests. */
async function receiver(
  answer: RequestListener,
): Promise<{ port: number; seen: { connections: number; paths: string[] } }> {
  const seen = { connections: 0, paths: [] as string[] };
  const server = createServer((request, response) => {
    seen.paths.push(request.url ?? '');
    request.resume();
    answer(request, response);
  });
  server.on('connection', () => seen.connections++);
  return { port: await listen(server), seen };
}

function clientFor(
  networks = LOOPBACK,
  resolve: Resolver = () => Promise.resolve(['127.0.0.1']),
): HttpDeliveryClient {
  const client = new HttpDeliveryClient(new DestinationGuard(parseNetworks(networks)), resolve, TIMEOUT_MS);
  open.push(() => client.close());
  return client;
}

const post = (client: HttpDeliveryClient, url: string): Promise<DeliveryReply> =>
  client.post(
    { url, headers: { 'content-type': 'application/json' }, body: '{}' },
    new AbortController().signal,
  );

describe('a request to a receiver', () => {
  it('returns the status, Retry-After and the start of the body of the reply', async () => {
    const { port } = await receiver((_, response) => {
      response.writeHead(503, { 'retry-after': '7' }).end('busy \u{1F40C}');
    });
    expect(await post(clientFor(), `http://127.0.0.1:${port}/hook?x=1`)).toEqual({
      statusCode: 503,
      retryAfter: '7',
      excerpt: 'busy \u{1F40C}',
      error: null,
    });
  });

  it('returns the first Retry-After if the reply has two, for example because a proxy added one', async () => {
    const { port } = await receiver((_, response) => {
      response.setHeader('retry-after', ['60', '5']).writeHead(429).end();
    });
    expect(await post(clientFor(), `http://127.0.0.1:${port}/`)).toMatchObject({ retryAfter: '60' });
  });

  it('succeeds with status 204 even if the reply has a Content-Length', async () => {
    const { port } = await receiver((_, response) => {
      response.writeHead(204, { 'content-length': '2' }).end();
    });
    const reply = await post(clientFor(), `http://127.0.0.1:${port}/`);
    expect(reply).toMatchObject({ statusCode: 204, error: null, excerpt: '' });
  });

  it('is not sent if the machine was suspended for longer than the timeout while the connection was opened', async () => {
    const { port, seen } = await receiver((_, response) => response.end('ok'));
    const { now } = Date;
    const client = clientFor(LOOPBACK, () => {
      // While a machine is suspended, its timers do not advance, but its wall clock does.
      jest.spyOn(Date, 'now').mockImplementation(() => now() + 60_000);
      return Promise.resolve(['127.0.0.1']);
    });
    const { error } = await post(client, `http://receiver.test:${port}/`);
    expect(error).toBe(`no reply within ${TIMEOUT_MS} ms`);
    jest.restoreAllMocks();
    expect((await post(clientFor(), `http://127.0.0.1:${port}/second`)).statusCode).toBe(200);
    expect(seen.paths).toEqual(['/second']);
  });

  it.each([
    ['a short reply', 'ok'],
    ['a reply of more than 1 KB that arrives in one piece', 'x'.repeat(4_096)],
  ])('reuses the connection of an earlier request after %s', async (_, body) => {
    const { port, seen } = await receiver((_request, response) => response.end(body));
    const client = clientFor();
    for (let i = 0; i < 10; i++) await post(client, `http://127.0.0.1:${port}/`);
    // The client may open a second connection while the first is not free yet.
    expect(seen.connections).toBeLessThanOrEqual(2);
    expect(seen.paths).toHaveLength(10);
  });

  it('does not follow redirects', async () => {
    const elsewhere = await receiver((_, response) => response.end());
    const { port } = await receiver((_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${elsewhere.port}/` }).end();
    });
    expect((await post(clientFor(), `http://127.0.0.1:${port}/`)).statusCode).toBe(307);
    expect(elsewhere.seen.connections).toBe(0);
  });

  it('reads only 1 KB of an endless reply, and then closes the connection', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const { port } = await receiver((request, response) => {
      closed = new Promise((resolve) => request.socket.once('close', resolve));
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    });
    const reply = await post(clientFor(), `http://127.0.0.1:${port}/`);
    expect(reply).toMatchObject({ statusCode: 200, error: null, excerpt: 'x'.repeat(1_024) });
    await closed;
  });

  it('times out if the receiver sends no headers', async () => {
    const { port } = await receiver(() => undefined);
    const reply = await post(clientFor(), `http://127.0.0.1:${port}/`);
    expect(reply).toMatchObject({ statusCode: null, error: `no reply within ${TIMEOUT_MS} ms` });
  });

  it('times out if the receiver never ends its reply', async () => {
    const { port } = await receiver((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => {
        clearInterval(drip);
      });
    });
    const reply = await post(clientFor(), `http://127.0.0.1:${port}/`);
    expect(reply.statusCode).toBe(200);
    expect(reply.error).toMatch(/no complete reply/);
    expect(reply.excerpt).toMatch(/^x+$/);
  });

  it('times out if the receiver accepts the TCP connection but never answers the TLS handshake', async () => {
    const server = createTcpServer((socket) => socket.resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const reply = await post(clientFor(), `https://127.0.0.1:${port}/`);
    expect(reply).toMatchObject({ statusCode: null, error: `no reply within ${TIMEOUT_MS} ms` });
  });

  it('reports a connection reset, a refused connection, and a name that does not resolve', async () => {
    const { port } = await receiver((request) => request.socket.resetAndDestroy());
    expect((await post(clientFor(), `http://127.0.0.1:${port}/`)).error).toMatch(
      /ECONNRESET|other side closed/,
    );
    expect((await post(clientFor(), 'http://127.0.0.1:1/')).error).toMatch(/ECONNREFUSED/);
    const nowhere = clientFor(LOOPBACK, () => Promise.reject(new Error('ENOTFOUND nowhere.example')));
    expect((await post(nowhere, 'https://nowhere.example/')).error).toMatch(/ENOTFOUND/);
  });

  it('is not sent if the certificate of the receiver is not trusted', async () => {
    let requests = 0;
    const server = createTlsServer({ key: TEST_PRIVATE_KEY, cert: TEST_CERTIFICATE }, (_, response) => {
      requests++;
      response.end();
    });
    const port = await listen(server);
    const reply = await post(clientFor(), `https://127.0.0.1:${port}/`);
    expect(reply.statusCode).toBeNull();
    expect(reply.error).toMatch(/self-signed|CERT/i);
    expect(requests).toBe(0);
  });

  it('fails with an AbortError if its signal is aborted', async () => {
    const stop = new AbortController();
    const { port } = await receiver(() => {
      stop.abort();
    });
    const request = { url: `http://127.0.0.1:${port}/`, headers: {}, body: '{}' };
    await expect(clientFor().post(request, stop.signal)).rejects.toMatchObject({ name: 'AbortError' });
    await expect(clientFor().post(request, stop.signal)).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('the connection to a receiver', () => {
  it('is refused before a byte is sent if the address is outside the allowed networks', async () => {
    const { port, seen } = await receiver((_, response) => response.end());
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `https://127.0.0.1:${port}/`,
      `http://2130706433:${port}/`,
    ]) {
      expect((await post(clientFor('10.0.0.0/8'), url)).error).toMatch(/refused/);
    }
    expect(seen.connections).toBe(0);
  });

  it('is refused if the receiver’s name resolves to a private address, even if an earlier check found a public address', async () => {
    const { port, seen } = await receiver((_, response) => response.end());
    const answers = [['93.184.215.14'], ['127.0.0.1'], ['93.184.215.14', '127.0.0.1']];
    const resolve = (): Promise<string[]> => Promise.resolve(answers.shift() ?? []);
    const url = `https://rebinding.example:${port}/`;
    new DestinationGuard([]).check(new URL(url), await resolve());
    const client = clientFor('', resolve);
    expect((await post(client, url)).error).toMatch(/127\.0\.0\.1 is not public/);
    expect((await post(client, url)).error).toMatch(/127\.0\.0\.1 is not public/);
    expect(seen.connections).toBe(0);
  });

  it('uses the checked address even if the name resolves differently a moment later', async () => {
    const { port, seen } = await receiver((_, response) => response.end());
    let asked = 0;
    const resolve = (): Promise<string[]> => Promise.resolve(asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']);
    expect((await post(clientFor(LOOPBACK, resolve), `http://pinned.example:${port}/`)).statusCode).toBe(200);
    expect([asked, seen.connections]).toEqual([1, 1]);
  });

  it('is refused for an http URL if one address of the name is outside the allowed networks', async () => {
    const { port, seen } = await receiver((_, response) => response.end());
    const client = clientFor(LOOPBACK, () => Promise.resolve(['127.0.0.1', '8.8.8.8']));
    expect((await post(client, `http://mixed.example:${port}/`)).error).toMatch(/use https/);
    expect(seen.connections).toBe(0);
  });

  it('is closed before a byte of the request is sent if the operating system connects to another address than the checked one', async () => {
    const { port, seen } = await receiver((_, response) => response.end());
    // A connection to this address reaches the machine itself, at another address.
    const client = clientFor('0.0.0.0/32', () => Promise.resolve(['0.0.0.0']));
    expect((await post(client, `http://elsewhere.example:${port}/`)).error).toMatch(
      /127\.0\.0\.1 is not public/,
    );
    expect(seen.paths).toEqual([]);
  });

  it('does not use the proxy that an environment variable configures', async () => {
    const proxy = await receiver((_, response) => response.end());
    const { port, seen } = await receiver((_, response) => response.end());
    const before = process.env['http_proxy'];
    process.env['http_proxy'] = `http://127.0.0.1:${proxy.port}`;
    try {
      await post(clientFor(), `http://127.0.0.1:${port}/`);
    } finally {
      if (before === undefined) delete process.env['http_proxy'];
      else process.env['http_proxy'] = before;
    }
    expect([proxy.seen.connections, seen.connections]).toEqual([0, 1]);
  });
});
