import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeRedis, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { eventually } from '../support/eventually.js';
import type { ApiDocument, ApiOperation } from '../support/openapi.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';

const ACCOUNTS = ['default', 'red', 'blue'] as const;
const PHONE = '+14155550123';
const SCOPES = ['messages:send', 'messages:read', 'webhooks:manage', 'events:read', 'admin'];

/** One of everything that an account can have. */
interface Things {
  account: string;
  /** Of the account, with every scope. */
  key: string;
  keyId: string;
  send: string;
  contact: string;
  webhook: string;
  event: string;
  delivery: string;
  cursor: string;
  /** Stands in everything that tells of it, and nowhere else. */
  word: string;
}

let product: Product;
let redis: RedisClient;
const simulators: ProductProcess[] = [];
const things = new Map<string, Things>();
/** What each account was shown in its lists when it was filled, and the others were not yet all. */
const shownBefore = new Map<string, string>();

interface Answer {
  status: number;
  text: string;
  headers: Headers;
}

async function ask(key: string, method: string, path: string, body?: object, more = {}): Promise<Answer> {
  const isStream = path.includes('/events/stream');
  const reply = await fetch(`http://127.0.0.1:${product.gateway.port}${path}`, {
    method,
    headers: {
      'x-api-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = isStream && reply.status === 200 ? await beginning(reply) : await reply.text();
  return { status: reply.status, text, headers: reply.headers };
}

/** What a stream says first: its log, as far as it is kept, and the place where it goes on. */
async function beginning(reply: Response): Promise<string> {
  const reader = reply.body?.getReader();
  let text = '';
  while (reader !== undefined && !/id: /.test(text)) {
    const { value, done } = (await reader.read()) as { value?: Uint8Array; done: boolean };
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  await reader?.cancel();
  return text;
}

async function made<T>(key: string, path: string, body?: object): Promise<T> {
  const answer = await ask(key, 'POST', path, body);
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return JSON.parse(answer.text) as T;
}

async function verb<T>(simulator: ProductProcess, name: string, body: object): Promise<T> {
  const reply = await fetch(`http://127.0.0.1:${simulator.port}/_simulator/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await reply.json()) as T;
}

/** An upstream of its own, and what one account keeps there and here. The same number and reference everywhere. */
async function fill(account: string): Promise<void> {
  const word = `word-of-${account}`;
  const simulator = account === 'default' ? product.simulator : await ownSimulator(account);
  const { contacts } = await verb<{ contacts: { id: string }[] }>(simulator, 'contacts', {
    phoneNumber: PHONE,
  });
  const contact = contacts[0]?.id ?? '';
  await verb(simulator, 'typing', { contactId: contact, message: word });
  const { id: keyId, key } = await made<{ id: string; key: string }>(product.apiKey, '/v1/api-keys', {
    ...{ account, name: word, scopes: SCOPES },
  });
  const { id: send } = await made<{ id: string }>(key, '/v1/messages/send', {
    ...{ phoneNumber: PHONE, message: word, reference: 'same', metadata: { word } },
  });
  const { id: webhook } = await made<{ id: string }>(key, '/v1/webhooks', {
    url: `http://127.0.0.1:9/${word}`,
  });
  const test = await made<{ eventId: string; deliveryId: string }>(key, `/v1/webhooks/${webhook}/test`);
  await eventually('the delivery was tried', async () => {
    const { status, text } = await ask(key, 'GET', `/v1/deliveries/${test.deliveryId}`);
    return status === 200 && (JSON.parse(text) as { attempts: unknown[] }).attempts.length === 1;
  });
  const { next } = JSON.parse((await ask(key, 'GET', '/v1/events')).text) as { next: string };
  const ids = { account, key, keyId, send, contact, webhook, cursor: next, word };
  things.set(account, { ...ids, event: test.eventId, delivery: test.deliveryId });
}

async function ownSimulator(account: string): Promise<ProductProcess> {
  const apiKey = `upstream-key-of-${account}`;
  const simulator = await startProcess('simulator', {
    SIMULATOR_PORT: '0',
    SIMULATOR_API_KEY: apiKey,
    // Else its ids would be those of the others.
    SIMULATOR_SEED: String(100 + simulators.length),
    SIMULATOR_SETTINGS: JSON.stringify({ demo: false }),
  });
  simulators.push(simulator);
  const baseUrl = `http://127.0.0.1:${simulator.port}/v1`;
  await made(product.apiKey, '/v1/accounts', { id: account, baseUrl, apiKey, requestsPerSecond: 1000 });
  return simulator;
}

const of = (account: string): Things => {
  const found = things.get(account);
  if (found === undefined) throw new Error(`${account} was not filled`);
  return found;
};

async function operations(): Promise<{ method: string; path: string; operation: ApiOperation }[]> {
  const { paths } = JSON.parse((await ask('', 'GET', '/docs/openapi.json')).text) as ApiDocument;
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    );
}

/** The id in an address, by what stands before it. A new kind of thing must be filled in above. */
function address(path: string, theirs: Things): string {
  const kinds: Readonly<Record<string, string>> = {
    sends: theirs.send,
    contacts: theirs.contact,
    events: theirs.event,
    webhooks: theirs.webhook,
    deliveries: theirs.delivery,
    accounts: theirs.account,
    'api-keys': theirs.keyId,
  };
  return path.replace(/^\/v1\/([^/]+)\/\{\w+\}/, (_, kind: string) => {
    const id = kinds[kind];
    if (id === undefined)
      throw new Error(`no account was given one of ${kind}: nobody knows whether they are apart`);
    return `/v1/${kind}/${id}`;
  });
}

/** A body that would be taken, about the other's things where it can be. */
function bodyFor({ operationId, requestBody }: ApiOperation, theirs: Things): object | undefined {
  const bodies: Readonly<Record<string, object>> = {
    sendMessage: { phoneNumber: PHONE, message: 'mine' },
    resolveSend: { outcome: 'failed' },
    resolveSends: { ids: [theirs.send], outcome: 'failed' },
    createWebhook: { url: 'http://127.0.0.1:9/mine', contactIds: [theirs.contact] },
    changeWebhook: { description: 'changed' },
    rotateWebhookSecret: {},
    replayWebhook: { since: '2020-01-01T00:00:00Z', only: 'all' },
    createAccount: { id: 'green', baseUrl: 'http://127.0.0.1:9', apiKey: 'k' },
    changeAccount: { polling: false },
    createApiKey: { account: theirs.account, name: 'mine', scopes: ['events:read'] },
  };
  const body = bodies[operationId];
  if (body === undefined && requestBody !== undefined)
    throw new Error(`no body is known for ${operationId}: nobody knows whether accounts are apart there`);
  return body;
}

/** Every address with the other's things in its query, and without a query. */
function queriesFor({ parameters = [] }: ApiOperation, theirs: Things): string[] {
  const values: Readonly<Record<string, string>> = {
    ...{ contactId: theirs.contact, after: theirs.cursor, reference: 'same', account: theirs.account },
    ...{ phoneNumber: PHONE, cursor: theirs.cursor },
  };
  const names = parameters.filter(({ in: place, name }) => place === 'query' && values[name] !== undefined);
  return ['', ...names.map(({ name }) => `?${name}=${encodeURIComponent(values[name] ?? '')}`)];
}

/** All that Redis keeps for an account, byte by byte; but for the probes of readiness, which go by themselves. */
async function kept(account: string): Promise<Map<string, string>> {
  const names = (await redis.keys(`tidings:{${account}}:*`))
    .filter((name) => !name.endsWith(':health:probe'))
    // Redis answers them in another order while its table grows.
    .sort();
  const entries = names.map(async (name): Promise<[string, string]> => {
    const dump = (await redis.callBuffer('DUMP', name)) as Buffer | null;
    return [name, dump?.toString('base64') ?? ''];
  });
  const registry = '{.accounts}';
  const { keyId } = of(account);
  return new Map([
    ...(await Promise.all(entries)),
    ['the account', (await redis.hget(`tidings:${registry}:accounts`, account)) ?? ''],
    ['the key', (await redis.hget(`tidings:${registry}:api-keys`, keyId)) ?? ''],
    ['its keys', (await redis.smembers(`tidings:${registry}:api-keys-of:${account}`)).sort().join()],
  ]);
}

/** What an account's own lists and figures show; ages apart. */
async function shown(account: string): Promise<string> {
  const { key } = of(account);
  const lists = (await operations()).filter(
    ({ method, path }) => method === 'GET' && !path.includes('{') && !path.endsWith('/stream'),
  );
  const answers = await Promise.all(lists.map(({ path }) => ask(key, 'GET', path)));
  return answers
    .map(
      ({ status, text }, i) =>
        `${lists[i]?.path ?? ''} ${status} ${JSON.stringify(JSON.parse(text), ageless)}`,
    )
    .join('\n');
}

function ageless(field: string, value: unknown): unknown {
  // Which workers run is the same for all accounts, and changes meanwhile.
  if (field === 'readiness') return (value as { accounts: unknown }).accounts;
  return /(Ms|Seconds|At|Age|^usedPerSecond|^forPollsPerSecond)$/.test(field) && typeof value === 'number'
    ? 0
    : value;
}

beforeAll(async () => {
  product = await Product.start({ WORKER_ROLES: 'dispatch', WEBHOOK_RETRY_SCHEDULE_SECONDS: '3600' });
  redis = openRedis(parseRedisAddress(product.redis.url), 'failFast', () => undefined);
  await once(redis, 'ready');
  await fill('red');
  shownBefore.set('red', await shown('red'));
  await fill('blue');
  await fill('default');
  // From now on nothing moves but what is asked for.
  await product.worker.stop();
});

afterAll(async () => {
  await closeRedis(redis);
  await Promise.all(simulators.map((simulator) => simulator.stop()));
  await product[Symbol.asyncDispose]();
});

describe('two accounts', () => {
  it('count and list the same, however much the others have', async () => {
    expect(await shown('red')).toBe(shownBefore.get('red'));
    expect(await shown('red')).toContain(of('red').word);
  });

  it.each(ACCOUNTS)('are each shown what is their own: %s', async (account) => {
    const mine = of(account);
    const reads = (await operations()).filter(({ method, path }) => method === 'GET' && path.includes('{'));
    expect(reads.length).toBeGreaterThanOrEqual(8);
    for (const { path } of reads)
      expect([path, (await ask(mine.key, 'GET', address(path, mine))).status]).toEqual([path, 200]);
  });

  const pairs = ACCOUNTS.flatMap((one) =>
    ACCOUNTS.filter((other) => other !== one).map((other) => [one, other]),
  );

  it.each(pairs)('%s can neither read nor change nor count anything of %s', async (mine, theirs) => {
    const [me, them] = [of(mine), of(theirs)];
    const secrets = [them.word, them.key, them.cursor, them.webhook, them.delivery, them.event];
    let before = await kept(them.account);
    expect(before.size).toBeGreaterThan(8);
    for (const { method, path, operation } of await operations()) {
      // The operator's own: an admin of the default account manages accounts and keys of all.
      if (me.account === 'default' && /^\/v1\/(accounts|api-keys)/.test(path)) continue;
      const at = address(path, them);
      const asked = at === path ? queriesFor(operation, them) : [''];
      for (const query of asked) {
        const answer = await ask(me.key, method, at + query, bodyFor(operation, them));
        const what = `${method} ${at}${query}`;
        if (at !== path) expect([what, answer.status]).toEqual([what, 404]);
        // What was asked for is named in the answer; nothing else of it is.
        const named = at + query;
        const told = secrets.filter((secret) => answer.text.includes(secret) && !named.includes(secret));
        expect([what, told]).toEqual([what, []]);
        const after = await kept(them.account);
        expect([what, [...after]]).toEqual([what, [...before]]);
        before = after;
      }
    }
  });

  it('use the same idempotency key for different sends, each its own', async () => {
    const send = (account: string): Promise<Answer> =>
      ask(
        of(account).key,
        'POST',
        '/v1/messages/send',
        { phoneNumber: PHONE, message: `other ${of(account).word}` },
        { 'idempotency-key': 'the-same' },
      );
    const answers = await Promise.all(ACCOUNTS.map(send));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, null, null]);
    expect(new Set(answers.map(({ text }) => (JSON.parse(text) as { id: string }).id)).size).toBe(3);
  });

  it('asking for the same at the same moment are each shown their own', async () => {
    const asked = Array.from({ length: 30 }, (_, i) => of(ACCOUNTS[i % ACCOUNTS.length] ?? ''));
    const answers = await Promise.all(asked.map(({ key }) => ask(key, 'GET', '/v1/contacts')));
    for (const [i, { status, text }] of answers.entries()) {
      expect(status).toBe(200);
      const ids = (JSON.parse(text) as { contacts: { id: string }[] }).contacts.map(({ id }) => id);
      expect(ids).toEqual([asked[i]?.contact]);
    }
  });
});
