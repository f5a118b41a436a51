import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';

const SHORT = {
  UPSTREAM_TIMEOUT_MS: '800',
  SEND_CONFIRM_MS: '2500',
  SEND_RETRY_SCHEDULE_SECONDS: '1',
  SEND_SAFE_STATUSES: '429,503',
};

interface SendView {
  status: string;
  attempts: { at: string; outcome: string; httpStatus?: number; error?: string }[];
  reason: string | null;
}

/** The texts that upstream accepted for a recipient, whatever it replied. */
async function acceptedTexts(product: Product, phoneNumber: string): Promise<string[]> {
  const { entries } = await product.simulate<{ entries: { phoneNumber: string; message: string }[] }>(
    'ledger',
    { kind: 'send.accepted' },
  );
  return entries.filter((entry) => entry.phoneNumber === phoneNumber).map(({ message }) => message);
}

const post = async (product: Product, phoneNumber: string, message: string): Promise<string> =>
  (await product.json<{ id: string }>('POST', '/v1/messages/send', { phoneNumber, message })).id;
const view = (product: Product, id: string): Promise<SendView> => product.json('GET', `/v1/sends/${id}`);
const untilStatus = (product: Product, id: string, status: string, deadlineMs = 40_000): Promise<SendView> =>
  eventually(
    `${id} is ${status}`,
    async () => {
      const send = await view(product, id);
      return send.status === status && send;
    },
    deadlineMs,
  );
const outcomes = ({ attempts }: SendView): string[] =>
  attempts.map(({ outcome, httpStatus }) => `${outcome} ${httpStatus ?? ''}`.trim());

const RETRY_AFTER_SECONDS = 2;
/** A time in a Retry-After, which has no milliseconds. */
const RETRY_AT = new Date(Date.now() + 8_000).toUTCString();

/** A fault of one POST, the final status of its send, and the outcomes of its attempts. */
const FAULTS = [
  ['reset after upstream accepted the send', 'resetAfter', 'delivered', ['ambiguous']],
  ['reset before upstream accepted the send', 'resetBefore', 'unknown', ['ambiguous']],
  ['timeout after upstream accepted the send', 'timeoutAfter', 'delivered', ['ambiguous']],
  ['timeout before upstream accepted the send', 'timeoutBefore', 'unknown', ['ambiguous']],
  [
    '500 although upstream accepted the send',
    { kind: 'statusAfter', status: 500 },
    'delivered',
    ['ambiguous 500'],
  ],
  ['500', { kind: 'status', status: 500 }, 'unknown', ['ambiguous 500']],
  ['429', { kind: 'status', status: 429 }, 'delivered', ['not_taken 429', 'accepted 200']],
  [
    '503, which SEND_SAFE_STATUSES contains',
    { kind: 'status', status: 503 },
    'delivered',
    ['not_taken 503', 'accepted 200'],
  ],
  [
    '429 with Retry-After in seconds',
    { kind: 'status', status: 429, retryAfter: RETRY_AFTER_SECONDS },
    'delivered',
    ['not_taken 429', 'accepted 200'],
  ],
  [
    '429 with Retry-After as a date',
    { kind: 'status', status: 429, retryAfter: RETRY_AT },
    'delivered',
    ['not_taken 429', 'accepted 200'],
  ],
  [
    '200 with HTML although upstream accepted the send',
    { kind: 'html', processed: true },
    'delivered',
    ['ambiguous'],
  ],
  ['200 with HTML', 'html', 'unknown', ['ambiguous']],
  [
    'redirect',
    { kind: 'status', status: 302, location: 'http://127.0.0.1:1/' },
    'unknown',
    ['ambiguous 302'],
  ],
  ['400', { kind: 'status', status: 400 }, 'failed', ['refused 400']],
] as const;

let running: Product | undefined;
let product: Product;

beforeAll(async () => {
  product = running = await Product.start(SHORT);
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

describe('a send whose POST fails', () => {
  /** One send per fault, by the name of the fault. All run at the same time, each to its own recipient. */
  const sends = new Map<string, { id: string; number: string }>();

  beforeAll(async () => {
    const numbers = FAULTS.map((_, i) => `+1415555${String(2_000 + i)}`);
    await product.simulate(
      'faults',
      FAULTS.map(([, fault], i) => ({ match: { method: 'POST', phoneNumber: numbers[i] }, fault })),
    );
    await Promise.all(
      FAULTS.map(async ([name], i) => {
        const number = numbers[i] ?? '';
        sends.set(name, { id: await post(product, number, name), number });
      }),
    );
  });

  it.each(FAULTS)(
    'is sent at most once and ends in the status that fits the fault (fault: %s)',
    async (name, _, status, attempts) => {
      const { id = '', number = '' } = sends.get(name) ?? {};
      const send = await untilStatus(product, id, status, 60_000);
      expect(outcomes(send)).toEqual(attempts);
      expect(await acceptedTexts(product, number)).toEqual(status === 'delivered' ? [name] : []);
      if (status === 'failed' || status === 'unknown') expect(send.reason).not.toBeNull();
    },
  );

  it.each([
    ['429 with Retry-After in seconds', (first: number) => first + RETRY_AFTER_SECONDS * 1_000],
    ['429 with Retry-After as a date', () => Date.parse(RETRY_AT)],
  ])('is not posted again before the time in Retry-After (fault: %s)', async (name, earliest) => {
    const { attempts } = await untilStatus(product, sends.get(name)?.id ?? '', 'delivered', 60_000);
    const [first = 0, second = 0] = attempts.map(({ at }) => Date.parse(at));
    expect(second).toBeGreaterThanOrEqual(earliest(first));
  });
});

// Last, because each of these tests starts and stops its own workers.
describe('a send while upstream is unavailable', () => {
  const closing: (() => void | Promise<void>)[] = [];

  beforeAll(async () => {
    await product.worker.stop();
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });

  /** Starts a worker that only relays, so that each connection to the address belongs to the relay. */
  const workerAt = (baseUrl: string): Promise<ProductProcess> =>
    startProcess('worker', {
      ...product.environment(),
      ...{ WORKER_PORT: '0', WORKER_ROLES: 'relay', UPSTREAM_BASE_URL: baseUrl },
    });

  /** A port without a listener. */
  async function closedPort(): Promise<string> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    return `http://127.0.0.1:${port}/v1`;
  }

  /** A server that resets every connection before it reads a byte. */
  async function resettingServer(): Promise<{ url: string; connections: () => number }> {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.resetAndDestroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    return { url, connections: () => connections };
  }

  it.each([
    ['connection refused', closedPort],
    ['a name that does not resolve', () => Promise.resolve('http://no-such-host.invalid/v1')],
  ] as const)('waits, and is sent exactly once after upstream is back (fault: %s)', async (name, address) => {
    const number = `+1415555${String(3_000 + name.length)}`;
    const id = await post(product, number, name);
    const lost = await workerAt(await address());
    const waiting = await eventually(
      'the first attempt is recorded',
      async () => {
        const send = await view(product, id);
        return send.attempts.length > 0 && send;
      },
      30_000,
    );
    expect(waiting.attempts[0]).toMatchObject({ outcome: 'not_taken' });
    expect(['queued', 'relaying']).toContain(waiting.status);
    expect(await lost.stop()).toBe(0);
    await product.startWorker();
    const send = await untilStatus(product, id, 'delivered', 60_000);
    expect(send.attempts.at(-1)?.outcome).toBe('accepted');
    expect(await acceptedTexts(product, number)).toEqual([name]);
    expect(await product.worker.stop()).toBe(0);
  });

  it('waits while every connection is reset, and is sent once after upstream is back', async () => {
    const number = '+14155553900';
    const id = await post(product, number, 'reset');
    const address = await resettingServer();
    const lost = await workerAt(address.url);
    await eventually(
      'the relay has connected to the address',
      () => Promise.resolve(address.connections() > 0),
      30_000,
    );
    expect(await lost.stop()).toBe(0);
    expect(await view(product, id)).toMatchObject({ status: 'queued', attempts: [] });
    await product.startWorker();
    await untilStatus(product, id, 'delivered', 60_000);
    expect(await acceptedTexts(product, number)).toEqual(['reset']);
    expect(await product.worker.stop()).toBe(0);
  });

  it('waits after a 401; when upstream accepts requests again, all sends of its lane are sent once and in order', async () => {
    const number = '+14155553999';
    const ids: string[] = [];
    for (const text of ['first', 'second', 'third']) ids.push(await post(product, number, text));
    await product.simulate('faults', [
      { match: { phoneNumber: number }, fault: { kind: 'slow', delayMs: 0 } },
      { match: { phoneNumber: number }, fault: { kind: 'status', status: 401 } },
    ]);
    await product.startWorker();
    const sends = [];
    for (const id of ids) sends.push(await untilStatus(product, id, 'delivered', 60_000));
    expect(sends.map(outcomes)).toEqual([
      ['accepted 200'],
      ['not_taken 401', 'accepted 200'],
      ['accepted 200'],
    ]);
    expect(await acceptedTexts(product, number)).toEqual(['first', 'second', 'third']);
    const { events } = await product.json<{ events: { type: string; data: { reason: string } }[] }>(
      'GET',
      '/v1/events?types=upstream.*&limit=1000',
    );
    const refusals = events.filter(({ data }) => data.reason.includes('401')).map(({ type }) => type);
    expect(refusals).toEqual(['upstream.unavailable', 'upstream.recovered']);
  });
});
