import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseNetworks } from '#platform';
import {
  type Delivery,
  deliveryId,
  WebhookUrlChecker,
  DestinationGuard,
  ForbiddenDestinationError,
  HttpDeliveryClient,
  type Resolver,
} from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { Receiver } from './receiver.js';
import { ACCOUNT, WebhookHarness } from './webhook-harness.js';

const PUBLIC = '93.184.215.14';

/** Notations of addresses of this machine, its network, and metadata services of clouds. */
const ADDRESSES = [
  // This machine: dotted, short, decimal, octal, hexadecimal, mixed, trailing dot, full-width, escaped.
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '127.255.255.254',
    '2130706433',
    '017700000001',
    '0x7f000001',
    '0x7f.1',
  ],
  ...[
    '0177.0.0.1',
    '0x7F.0.0x0.1',
    '00000177.1',
    '127.0.0.1.',
    '１２７.0.0.1',
    '127。0。0。1',
    '%31%32%37.0.0.1',
  ],
  ...['0.0.0.0', '0', '0x0', '[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[0000::0001]'],
  // private, shared, link-local
  ...[
    '10.0.0.1',
    '167772161',
    '172.16.0.1',
    '0xac100001',
    '192.168.0.1',
    '192.168.257',
    '0300.0250.1',
    '100.64.0.1',
  ],
  ...['[fc00::1]', '[fd12:3456::1]', '[fe80::1]', '[fec0::1]'],
  // metadata services
  ...['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518', '168.63.129.16'],
  ...['100.100.100.200', '192.0.0.192', '[fd00:ec2::254]', '[fd20:ce::254]', '[fe80::a9fe:a9fe]'],
  // IPv4 in IPv6: mapped, compatible, translated, NAT64 (well known and local), 6to4, Teredo
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:a9fe:a9fe]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]'],
  ...['[64:ff9b::7f00:1]', '[64:ff9b::169.254.169.254]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::1]'],
  ...['[2002:a9fe:a9fe::1]', '[2001:0:7f00:1::f7f7:f7f7]', '[2001:0:808:808::80ff:fffe]'],
  // Not usable for hosts: multicast, broadcast, reserved, documentation, benchmarks, protocols
  ...['224.0.0.1', '255.255.255.255', '240.0.0.1', '192.0.2.1', '198.18.0.1', '192.88.99.1', '[ff02::1]'],
  ...['[2001:db8::1]', '[3fff::1]', '[2001:2::1]', '[2001:10::1]', '[2001:20::1]', '[5f00::1]', '[100::1]'],
];

/** Names and their successive DNS answers. The last answer repeats. */
const NAMES: Record<string, readonly (readonly string[])[]> = {
  localhost: [['127.0.0.1']],
  'a.localhost': [[]],
  'localhost.localdomain': [[]],
  'ip6-localhost': [['::1']],
  'loopback.example': [['127.0.0.1']],
  '127.0.0.1.nip.example': [['127.0.0.1']],
  'intranet.example': [['10.1.2.3']],
  'six.example': [['fd00::1']],
  'mapped.example': [['::ffff:127.0.0.1']],
  'nat64.example': [['64:ff9b::7f00:1']],
  'mixed.example': [[PUBLIC, '127.0.0.1']],
  'mixed-six.example': [['2606:4700::1111', '::1']],
  'metadata.google.internal': [['169.254.169.254']],
  'instance-data.ec2.internal': [['169.254.169.254', 'fd00:ec2::254']],
  metadata: [['169.254.169.254']],
  redis: [['172.30.77.2']],
};

/** Names that are harmless or unresolvable when the webhook is created. Same form as {@link NAMES}. */
const CHANGING: Record<string, readonly (readonly string[])[]> = {
  'rebinding.example': [[PUBLIC], ['127.0.0.1']],
  'rebinding-six.example': [['2606:4700::1111'], ['::1']],
  'rebinding-metadata.example': [[PUBLIC], ['169.254.169.254']],
  'widening.example': [[PUBLIC], [PUBLIC, '127.0.0.1']],
  'later.example': [[], ['127.0.0.1']],
};

/** URLs whose apparent host differs from the real host. `PORT` stands for the listener's port. */
const FORMS = [
  ...[
    'https://example.com@127.0.0.1:PORT/',
    'https://127.0.0.1:PORT@example.com/',
    'https://user:pw@127.0.0.1:PORT/',
  ],
  ...[
    'https://example.com#@127.0.0.1:PORT/',
    'https://127.0.0.1:PORT#.example.com/',
    'https://example.com:0/',
  ],
  ...[
    'http://example.com\\@127.0.0.1:PORT/',
    'https:127.0.0.1:PORT',
    'https:/127.0.0.1:PORT/',
    '//127.0.0.1:PORT/',
  ],
  ...['ftp://127.0.0.1:PORT/', 'file:///etc/passwd', 'gopher://127.0.0.1:PORT/_x', 'ws://127.0.0.1:PORT/'],
  ...['unix:/run/docker.sock', 'data:text/plain,x', 'javascript:alert(1)', 'https://[fe80::1%25eth0]:PORT/'],
  ...['https://127.0.0.1%00.example.com/', 'https://example.com../', '\thttps://127.0.0.1:PORT/'],
  'ht\ntps://127.0.0.1:PORT/',
];

let server: TestRedis;
let harness: WebhookHarness;
let listener: Listener;

/** A server on all addresses of this machine, which no delivery may reach. */
interface Listener {
  server: Server;
  port: number;
  connections: number;
}

async function listen(): Promise<Listener> {
  const http = createServer((_, response) => response.end());
  const open: Listener = { server: http, port: 0, connections: 0 };
  http.on('connection', () => open.connections++);
  // Listens on IPv6 and IPv4, or on IPv4 alone if IPv6 is unavailable.
  http.listen(0, '::').on('error', () => http.listen(0, '0.0.0.0'));
  await once(http, 'listening');
  open.port = (http.address() as AddressInfo).port;
  return open;
}

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  harness = await WebhookHarness.open(server.url);
  listener = await listen();
});
afterEach(async () => {
  await harness.close();
  listener.server.close();
});

/** Returns a resolver that gives the next answer of a name's table at each call. Rejects unknown names. */
function resolver(): Resolver {
  const asked = new Map<string, number>();
  return (name) => {
    const answers = { ...NAMES, ...CHANGING }[name] ?? [[]];
    const time = asked.get(name) ?? 0;
    asked.set(name, time + 1);
    const addresses = answers[Math.min(time, answers.length - 1)] ?? [];
    return addresses.length > 0 ? Promise.resolve([...addresses]) : Promise.reject(new Error('ENOTFOUND'));
  };
}

const strict = new DestinationGuard([]);
const urlsOf = (hosts: readonly string[]): string[] =>
  hosts.flatMap((host) => [`https://${host}:${listener.port}/hook`, `http://${host}:${listener.port}/hook`]);
const forms = (): string[] => FORMS.map((form) => form.replaceAll('PORT', String(listener.port)));

/** Delivers an event to each URL, without the check at creation. Returns the finished delivery of each URL. */
async function attempted(
  urls: readonly string[],
  client: HttpDeliveryClient,
): Promise<Map<string, Delivery>> {
  const runner = harness.startRunner([], { timeoutMs: 2_000 }, client);
  const ids = new Map<string, string>();
  for (const url of urls) {
    const { endpoint } = await harness.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/' });
    await harness.endpointStore.change(ACCOUNT, endpoint.id, (before) => ({ ...before, url }));
    ids.set(url, endpoint.id);
  }
  const [event] = await harness.record(1);
  if (event === undefined) throw new Error('no event was recorded');
  await harness.dispatcher.dispatch(ACCOUNT, [event]);
  const ended = new Map<string, Delivery>();
  await eventually('every attempt has ended', async () => {
    // Not all deliveries find a slot at first. Reconciliation picks up the rest, as in the worker.
    await runner.reconcile(ACCOUNT);
    for (const [url, id] of ids) {
      const delivery = ended.get(url) ?? (await harness.deliveries.find(ACCOUNT, deliveryId(event.id, id)));
      if (delivery?.status === 'failed') ended.set(url, delivery);
    }
    return ended.size === ids.size;
  });
  return ended;
}

/** Proves that the listener counts a connection. */
async function reach(): Promise<void> {
  const socket = connect(listener.port, '127.0.0.1');
  await once(socket, 'connect');
  await eventually('the listener counts a connection', () => listener.connections === 1);
  socket.destroy();
}

describe('a hostile address', () => {
  it('is refused when the webhook is created', async () => {
    const check = new WebhookUrlChecker(strict, resolver());
    const urls = [...urlsOf([...ADDRESSES, ...Object.keys(NAMES)]), ...forms()];
    expect(new Set(urls).size).toBeGreaterThanOrEqual(60);
    for (const url of urls) {
      const verdict = await check.check(url).catch((error: unknown) => error);
      expect([url, verdict]).toEqual([url, expect.any(ForbiddenDestinationError)]);
    }
    expect(listener.connections).toBe(0);
    await reach();
  });

  it('is refused when a delivery connects, even if the check at the creation of the webhook was skipped', async () => {
    const client = new HttpDeliveryClient(strict, resolver(), 2_000);
    const urls = [...urlsOf([...ADDRESSES, ...Object.keys(NAMES)]), ...forms()];
    const ended = await attempted(urls, client);
    for (const [url, { attempts }] of ended) {
      const [attempt, ...more] = attempts;
      expect([url, attempt?.statusCode, more]).toEqual([url, null, []]);
      expect([url, attempt?.error]).toEqual([url, expect.stringMatching(/is refused|ENOTFOUND/)]);
    }
    expect(listener.connections).toBe(0);
    await client.close();
    await reach();
  });

  it('is refused when a delivery connects, even if the host name had a public address or no address at the creation of the webhook', async () => {
    const resolve = resolver();
    const urls = Object.keys(CHANGING).map((name) => `https://${name}:${listener.port}/hook`);
    const check = new WebhookUrlChecker(strict, resolve);
    for (const url of urls) expect(await check.check(url)).toBe(url);
    const client = new HttpDeliveryClient(strict, resolve, 2_000);
    for (const [url, { attempts }] of await attempted(urls, client)) {
      expect([url, attempts[0]?.error]).toEqual([url, expect.stringMatching(/is refused: .* is not public/)]);
    }
    expect(listener.connections).toBe(0);
    await client.close();
    await reach();
  });

  it('gets no connection if a receiver redirects to it', async () => {
    const statuses = [301, 302, 303, 307, 308];
    const receiver = await Receiver.start((_, count) => ({
      status: statuses[(count - 1) % statuses.length] ?? 301,
      headers: {
        location: `http://127.0.0.1:${listener.port}/`,
        refresh: `0; url=http://127.0.0.1:${listener.port}/`,
      },
    }));
    const guard = new DestinationGuard(parseNetworks('127.0.0.1/32'));
    const client = new HttpDeliveryClient(guard, resolver(), 2_000);
    const urls = statuses.map((status) => `${receiver.url}?${status}`);
    const ended = await attempted(urls, client);
    const seen = [...ended.values()]
      .map(({ attempts }) => attempts.map(({ statusCode }) => statusCode))
      .flat();
    expect(seen.sort()).toEqual(statuses);
    expect(listener.connections).toBe(0);
    await client.close();
    await receiver.stop();
    await reach();
  });

  it('gets no connection if an environment variable names it as the proxy', async () => {
    const proxy = `http://127.0.0.1:${listener.port}`;
    const variables = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
    const before = new Map(variables.map((name) => [name, process.env[name]]));
    const receiver = await Receiver.start();
    const client = new HttpDeliveryClient(
      new DestinationGuard(parseNetworks('127.0.0.1/32')),
      resolver(),
      2_000,
    );
    try {
      for (const name of variables) process.env[name] = proxy;
      harness.startRunner([], {}, client);
      await harness.endpoints.create(ACCOUNT, { url: receiver.url });
      await harness.dispatcher.dispatch(ACCOUNT, await harness.record(1));
      await eventually('the receiver gets the event', () => receiver.received.length === 1);
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) Reflect.deleteProperty(process.env, name);
        else process.env[name] = value;
      }
    }
    expect(listener.connections).toBe(0);
    await client.close();
    await receiver.stop();
    await reach();
  });
});
