import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { percentile } from '../support/percentile.js';
import { Product } from '../support/product.js';

const CLIENTS_PER_KIND = 500;
const DRIP_EVERY_MS = 1_000;
/**
 * Time limit for closing all slow connections, in milliseconds. Timeouts: 15 s for headers and idle
 * connections, 20 s for bodies, 10 s for upload progress, then 2 s for the close.
 */
const ALL_CLOSED_WITHIN_MS = 45_000;
const REQUESTS = 60;

let product: Product;

beforeAll(async () => {
  product = await Product.start();
});

afterAll(async () => {
  await product[Symbol.asyncDispose]();
});

/** The data of a slow client: the first part at once, then small pieces. */
interface SlowKind {
  head: string;
  drip: string;
}

const slowKinds = (): Record<string, SlowKind> => {
  const post = (type: string): string =>
    `POST /v1/messages/send HTTP/1.1\r\nHost: x\r\nX-API-Key: ${product.apiKey}\r\nContent-Type: ${type}\r\nContent-Length: 500000\r\n\r\n`;
  const file = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx';
  return {
    silent: { head: '', drip: '' },
    headers: { head: 'GET /v1/contacts HTTP/1.1\r\nX-A: ', drip: 'a' },
    JSON: { head: `${post('application/json')}{"message":"`, drip: 'a' },
    upload: { head: `${post('multipart/form-data; boundary=x')}${file}`, drip: 'a' },
  };
};

/** Slow connections of one kind. They send small pieces until they are closed. */
class SlowClients implements Disposable {
  private readonly sockets: Socket[] = [];
  private readonly dripping: NodeJS.Timeout;

  private constructor(private readonly kind: SlowKind) {
    this.dripping = setInterval(() => {
      for (const socket of this.sockets) if (socket.writable) socket.write(this.kind.drip);
    }, DRIP_EVERY_MS);
  }

  static async open(port: number, manner: SlowKind): Promise<SlowClients> {
    const clients = new SlowClients(manner);
    for (let i = 0; i < CLIENTS_PER_KIND; i += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined).resume();
      clients.sockets.push(socket);
      await once(socket, 'connect');
      socket.write(manner.head);
    }
    return clients;
  }

  left(): number {
    return this.sockets.filter(({ destroyed }) => !destroyed).length;
  }

  [Symbol.dispose](): void {
    clearInterval(this.dripping);
    for (const socket of this.sockets) socket.destroy();
  }
}

/** Returns the sorted durations of normal sequential requests, in milliseconds. */
async function measureNormalRequests(): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < REQUESTS; i += 1) {
    const begun = performance.now();
    if (i % 2 === 0) await product.json('GET', '/v1/sends?limit=1');
    else await product.json('POST', '/v1/messages/send', { phoneNumber: '+14155550123', message: 'Hi' });
    took.push(performance.now() - begun);
  }
  return took.sort((one, other) => one - other);
}

describe('500 simultaneous connections of each kind of slow client', () => {
  it('delay no normal request by a second or more, and are closed by the gateway without leaving uploaded files', async () => {
    await measureNormalRequests();
    const before = await measureNormalRequests();
    const all = slowKinds();
    const open: SlowClients[] = [];
    try {
      for (const manner of Object.values(all))
        open.push(await SlowClients.open(product.gateway.port, manner));
      const during = await measureNormalRequests();
      process.stderr.write(
        `slow clients: p50 ${percentile(before, 0.5).toFixed(1)} -> ${percentile(during, 0.5).toFixed(1)} ms, ` +
          `p99 ${percentile(before, 0.99).toFixed(1)} -> ${percentile(during, 0.99).toFixed(1)} ms, ` +
          `ratio of the p50 ${(percentile(during, 0.5) / percentile(before, 0.5)).toFixed(2)}\n`,
      );
      expect(during.at(-1)).toBeLessThan(1_000);
      await eventually(
        'all slow connections are closed',
        () => open.every((clients) => clients.left() === 0),
        ALL_CLOSED_WITHIN_MS,
      );
    } finally {
      for (const clients of open) clients[Symbol.dispose]();
    }
    await eventually('no upload file is left', async () => {
      const files = await readdir(product.blobDirectory, { recursive: true, withFileTypes: true });
      // Ignores the marker files of processes that use the directory.
      return files.filter((entry) => entry.isFile() && !entry.parentPath.endsWith('.marks')).length === 0;
    });
    expect(product.gateway.child.exitCode).toBeNull();
    await measureNormalRequests();
  });
});
