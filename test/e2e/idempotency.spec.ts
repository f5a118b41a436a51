import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeRedis, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { eventually } from '../support/eventually.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';

const RECIPIENT = '+14155550123';

let product: Product;
let second: ProductProcess | undefined;
let redis: RedisClient;

beforeAll(async () => {
  product = await Product.start();
  redis = openRedis(parseRedisAddress(product.redis.url), 'patient', () => undefined);
});
afterAll(async () => {
  await second?.stop();
  await closeRedis(redis);
  await product[Symbol.asyncDispose]();
});

interface Reply {
  status: number;
  replayed: boolean;
  body: { id?: string; code?: string };
}

async function send(port: number, key: string, body: string | FormData): Promise<Reply> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/messages/send`, {
    method: 'POST',
    headers: {
      'x-api-key': product.apiKey,
      'idempotency-key': key,
      ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
    },
    body,
    signal: AbortSignal.timeout(20_000),
  });
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed') === 'true',
    body: (await response.json()) as Reply['body'],
  };
}

const json = (message: string): string => JSON.stringify({ phoneNumber: RECIPIENT, message });
function form(message: string): FormData {
  const body = new FormData();
  body.append('phoneNumber', RECIPIENT);
  body.append('message', message);
  body.append('file', new Blob(['x'.repeat(50_000)]), 'a.txt');
  return body;
}
const anotherGateway = (more: Readonly<Record<string, string>> = {}): Promise<ProductProcess> =>
  startProcess('gateway', { ...product.environment(), PORT: '0', API_KEY: product.apiKey, ...more });
const textsLike = async (message: string): Promise<string[]> =>
  (await product.texts()).filter((text) => text === message);

describe('an Idempotency-Key', () => {
  it.each([
    ['JSON', json],
    ['a form with a file', form],
  ])(
    'in 100 simultaneous requests to two gateways creates only one send (request body: %s)',
    async (name, bodyOf) => {
      const { port } = (second ??= await anotherGateway());
      const message = `Once ${name}`;
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          send(i % 2 === 0 ? product.gateway.port : port, `key ${name}`, bodyOf(message)),
        ),
      );
      const [done, others] = [
        replies.filter(({ status }) => status === 200),
        replies.filter(({ status }) => status !== 200),
      ];
      expect(done.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(done.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      expect(
        others.filter(({ status, body }) => status !== 409 || body.code !== 'idempotency_in_progress'),
      ).toEqual([]);
      const after = await send(port, `key ${name}`, bodyOf(message));
      expect(after).toEqual({ status: 200, replayed: true, body: done[0]?.body });
      // A later send to the same recipient proves that no earlier send is still queued.
      const last = await send(port, `last ${name}`, json(`Last ${name}`));
      expect(last.status).toBe(200);
      await eventually(
        'the last send reached upstream',
        async () => (await textsLike(`Last ${name}`)).length === 1,
      );
      expect(await textsLike(message)).toHaveLength(1);
    },
  );

  it('in a second request returns the stored send if the gateway was killed after it stored the send and before it replied', async () => {
    await using line = await MutableProxy.open(product.redis.url);
    const doomed = await anotherGateway({ REDIS_URL: line.url });
    try {
      // The first send loads the Lua scripts.
      await eventually(
        'the first send is accepted',
        async () => (await send(doomed.port, 'warm', json('Warm'))).status === 200,
      );
      const before = new Set(await redis.keys('*:send:*'));
      line.muteAt('idempotency');
      const lost = send(doomed.port, 'lost', json('Lost reply')).then(
        () => 'answered',
        () => 'lost',
      );
      const stored = await eventually('the send is stored', async () =>
        (await redis.keys('*:send:*')).find((key) => !before.has(key)),
      );
      await doomed.stop('SIGKILL');
      expect(await lost).toBe('lost');
      const retry = await send(product.gateway.port, 'lost', json('Lost reply'));
      expect(retry).toMatchObject({ status: 200, replayed: true });
      expect(stored.endsWith(`:send:${retry.body.id ?? ''}`)).toBe(true);
      await eventually('the send is relayed', async () => (await textsLike('Lost reply')).length === 1);
    } finally {
      await doomed.stop('SIGKILL');
    }
  });

  it('can be used again only after its lease has expired if the gateway was killed during the upload', async () => {
    const doomed = await anotherGateway();
    const call = request({
      host: '127.0.0.1',
      port: doomed.port,
      method: 'POST',
      path: '/v1/messages/send',
      headers: {
        'x-api-key': product.apiKey,
        'idempotency-key': 'half',
        'content-type': 'multipart/form-data; boundary=x',
      },
    });
    const broken = once(call, 'error');
    try {
      call.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc');
      const retry = (): Promise<Reply> => send(product.gateway.port, 'half', form('Half'));
      await eventually('the key is reserved', async () => {
        const names = await redis.keys('*:idempotency:*');
        const values = await Promise.all(names.map((each) => redis.get(each)));
        return values.some((value) => value?.startsWith('~') === true);
      });
      expect((await retry()).status).toBe(409);
      await doomed.stop('SIGKILL');
      await broken;
      expect(await retry()).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } });
      const reply = await eventually('the lease has expired', async () => {
        const seen = await retry();
        return seen.status !== 409 && seen;
      });
      expect(reply).toMatchObject({ status: 200, replayed: false });
      await eventually('the send is relayed', async () => (await textsLike('Half')).length === 1);
    } finally {
      await doomed.stop('SIGKILL');
      call.destroy();
    }
  });
});

/** A proxy in front of Redis that can stop replies: commands still arrive, but no reply comes back. */
class MutableProxy implements AsyncDisposable {
  private mark: string | undefined;
  private deaf = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (near) => {
      const far = connect(Number(target.port), target.hostname);
      for (const socket of [near, far]) {
        this.sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          near.destroy();
          far.destroy();
        });
      }
      near.on('data', (bytes) => {
        if (this.mark !== undefined && bytes.includes(this.mark)) this.deaf = true;
        far.write(bytes);
      });
      far.on('data', (bytes) => {
        if (!this.deaf) near.write(bytes);
      });
    });
  }

  static async open(url: string): Promise<MutableProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new MutableProxy(server, new URL(url));
  }

  get url(): string {
    const url = new URL(this.target);
    url.port = String((this.server.address() as AddressInfo).port);
    url.hostname = '127.0.0.1';
    return url.href;
  }

  /** Stops all replies from the next command on that contains this text. */
  muteAt(mark: string): void {
    this.mark = mark;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
