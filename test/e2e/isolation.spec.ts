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

/** One object of every kind that an account can have. */
interface AccountObjects {
  account: string;
  /** API key of the account, with every scope. */
  key: string;
  keyId: string;
  send: string;
  contact: string;
  webhook: string;
  token: string;
  event: string;
  delivery: string;
  cursor: string;
  /** Contained in every text of this account, and nowhere else. */
  word: string;
}

let product: Product;
let redis: RedisClient;
const simulators: ProductProcess[] = [];
const objects = new Map<string, AccountObjects>();
/** The lists of an account, read before the other accounts had any data. */
const listedBefore = new Map<string, string>();

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

/** The beginning of an event stream, up to its first cursor. */
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

async function create<T>(key: string, path: string, body?: object): Promise<T> {
  const answer = await ask(key, 'POST', path, body);
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return JSON.parse(answer.text) as T;
}

async function callVerb<T>(simulator: ProductProcess, name: string, body: object): Promise<T> {
  const reply = await fetch(`http://127.0.0.1:${simulator.port}/_simulator/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await reply.json()) as T;
}

/** Gives an account its own upstream and one object of each kind. All accounts use the same number and reference. */
async function fill(account: string): Promise<void> {
  const word = `word-of-${account}`;
  const simulator = account === 'default' ? product.simulator : await ownSimulator(account);
  const { contacts } = await callVerb<{ contacts: { id: string }[] }>(simulator, 'contacts', {
    phoneNumber: PHONE,
  });
  const contact = contacts[0]?.id ?? '';
  await callVerb(simulator, 'typing', { contactId: contact, message: word });
  const { id: keyId, key } = await create<{ id: string; key: string }>(product.apiKey, '/v1/api-keys', {
    ...{ account, name: word, scopes: SCOPES },
  });
  const { id: send } = await create<{ id: string }>(key, '/v1/messages/send', {
    ...{ phoneNumber: PHONE, message: word, reference: 'same', metadata: { word } },
  });
  const { id: webhook } = await create<{ id: string }>(key, '/v1/webhooks', {
    url: `http://127.0.0.1:9/${word}`,
  });
  const { id: token } = await create<{ id: string }>(key, '/v1/tokens', { scopes: ['events:read'] });
  const test = await create<{ eventId: string; deliveryId: string }>(key, `/v1/webhooks/${webhook}/test`);
  await eventually('the first delivery attempt is recorded', async () => {
    const { status, text } = await ask(key, 'GET', `/v1/deliveries/${test.deliveryId}`);
    return status === 200 && (JSON.parse(text) as { attempts: unknown[] }).attempts.length === 1;
  });
  // No worker polls: the conversation is stored as a commit of the feed stores it.
  const conversations = `tidings:{${account}}:conversations`;
  await redis.hset(conversations, contact, JSON.stringify({ m: [1, `message-of-${account}`, 'i', word] }));
  await redis.zadd(`${conversations}:order`, 1, contact);
  const { next } = JSON.parse((await ask(key, 'GET', '/v1/events')).text) as { next: string };
  const ids = { account, key, keyId, send, contact, webhook, token, cursor: next, word };
  objects.set(account, { ...ids, event: test.eventId, delivery: test.deliveryId });
}

async function ownSimulator(account: string): Promise<ProductProcess> {
  const apiKey = `upstream-key-of-${account}`;
  const simulator = await startProcess('simulator', {
    SIMULATOR_PORT: '0',
    SIMULATOR_API_KEY: apiKey,
    // With the same seed, the simulators would create the same ids.
    SIMULATOR_SEED: String(100 + simulators.length),
    SIMULATOR_SETTINGS: JSON.stringify({ demo: false }),
  });
  simulators.push(simulator);
  const baseUrl = `http://127.0.0.1:${simulator.port}/v1`;
  await create(product.apiKey, '/v1/accounts', { id: account, baseUrl, apiKey, requestsPerSecond: 1000 });
  return simulator;
}

const objectsOf = (account: string): AccountObjects => {
  const found = objects.get(account);
  if (found === undefined) throw new Error(`the account ${account} has no data yet`);
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

/** Returns the path with the id of an object of the other account. A new kind of object must be added here. */
function address(path: string, theirs: AccountObjects): string {
  const kinds: Readonly<Record<string, string>> = {
    sends: theirs.send,
    contacts: theirs.contact,
    conversations: theirs.contact,
    events: theirs.event,
    webhooks: theirs.webhook,
    deliveries: theirs.delivery,
    accounts: theirs.account,
    'api-keys': theirs.keyId,
    tokens: theirs.token,
  };
  return path.replace(/^\/v1\/([^/]+)\/\{\w+\}/, (_, kind: string) => {
    const id = kinds[kind];
    if (id === undefined)
      throw new Error(`this test has no id for ${kind}; add one to check their isolation`);
    return `/v1/${kind}/${id}`;
  });
}

/** A valid request body, with ids of the other account where possible. */
function bodyFor({ operationId, requestBody }: ApiOperation, theirs: AccountObjects): object | undefined {
  const bodies: Readonly<Record<string, object>> = {
    sendMessage: { phoneNumber: PHONE, message: 'mine' },
    resolveSend: { outcome: 'failed' },
    resolveSends: { ids: [theirs.send], outcome: 'failed' },
    createWebhook: { url: 'http://127.0.0.1:9/mine', contactIds: [theirs.contact] },
    changeWebhook: { description: 'changed' },
    rotateWebhookSecret: {},
    deliverEvent: { eventId: theirs.event },
    replayWebhook: { since: '2020-01-01T00:00:00Z', only: 'all' },
    createAccount: { id: 'green', baseUrl: 'http://127.0.0.1:9', apiKey: 'k' },
    changeAccount: { polling: false },
    createToken: { scopes: ['events:read'], contactIds: [theirs.contact] },
    createApiKey: { account: theirs.account, name: 'mine', scopes: ['events:read'] },
    markConversationSeen: { upTo: `message-of-${theirs.account}` },
  };
  const body = bodies[operationId];
  if (body === undefined && requestBody !== undefined)
    throw new Error(`this test has no body for ${operationId}; add one to check its isolation`);
  return body;
}

/** The queries to try: none, and each parameter with a value of the other account. */
function queriesFor({ parameters = [] }: ApiOperation, theirs: AccountObjects): string[] {
  const values: Readonly<Record<string, string>> = {
    ...{ contactId: theirs.contact, after: theirs.cursor, reference: 'same', account: theirs.account },
    ...{ phoneNumber: PHONE, cursor: theirs.cursor, eventId: theirs.event, sendId: theirs.send },
  };
  const names = parameters.filter(({ in: place, name }) => place === 'query' && values[name] !== undefined);
  return ['', ...names.map(({ name }) => `?${name}=${encodeURIComponent(values[name] ?? '')}`)];
}

/**
 * All data of an account in Redis, byte by byte, except the readiness probes, which change on their own, and the
 * statistics, which are written late.
 */
async function storedData(account: string): Promise<Map<string, string>> {
  const names = (await redis.keys(`tidings:{${account}}:*`))
    .filter((name) => !/:(health:probe|stats)$/.test(name))
    // Redis returns keys in another order while its hash table grows.
    .sort();
  const entries = names.map(async (name): Promise<[string, string]> => {
    const dump = (await redis.callBuffer('DUMP', name)) as Buffer | null;
    return [name, dump?.toString('base64') ?? ''];
  });
  const registry = '{.accounts}';
  const { keyId, token } = objectsOf(account);
  return new Map([
    ...(await Promise.all(entries)),
    ['the account', (await redis.hget(`tidings:${registry}:accounts`, account)) ?? ''],
    ['the key', (await redis.hget(`tidings:${registry}:api-keys`, keyId)) ?? ''],
    ['the token', JSON.stringify(await redis.hgetall(`tidings:${registry}:token:${token}`))],
    ['its tokens', (await redis.zrange(`tidings:${registry}:tokens-of:${keyId}`, '0', '-1')).join()],
    ['its keys', (await redis.smembers(`tidings:${registry}:api-keys-of:${account}`)).sort().join()],
  ]);
}

/** The lists and the status of an account, without ages and without the statistics, which change with time. */
async function listedData(account: string): Promise<string> {
  const { key } = objectsOf(account);
  const lists = (await operations()).filter(
    ({ method, path }) => method === 'GET' && !path.includes('{') && !/\/(stream|stats)$/.test(path),
  );
  const answers = await Promise.all(lists.map(({ path }) => ask(key, 'GET', path)));
  return answers
    .map(
      ({ status, text }, i) =>
        `${lists[i]?.path ?? ''} ${status} ${JSON.stringify(JSON.parse(text), withoutAges)}`,
    )
    .join('\n');
}

function withoutAges(field: string, value: unknown): unknown {
  // The running workers are the same for all accounts, and may change during the test.
  if (field === 'readiness') return (value as { accounts: unknown }).accounts;
  // This test itself uses the API keys.
  if (field === 'lastUsedAt') return null;
  return /(Ms|Seconds|At|Age|^usedPerSecond|^forPollsPerSecond)$/.test(field) && typeof value === 'number'
    ? 0
    : value;
}

beforeAll(async () => {
  product = await Product.start({ WORKER_ROLES: 'dispatch', WEBHOOK_RETRY_SCHEDULE_SECONDS: '3600' });
  redis = openRedis(parseRedisAddress(product.redis.url), 'failFast', () => undefined);
  await once(redis, 'ready');
  await fill('red');
  listedBefore.set('red', await listedData('red'));
  await fill('blue');
  await fill('default');
  // Without a worker, only the requests of this test change data.
  await product.worker.stop();
});

afterAll(async () => {
  await closeRedis(redis);
  await Promise.all(simulators.map((simulator) => simulator.stop()));
  await product[Symbol.asyncDispose]();
});

describe('each of several accounts', () => {
  it('has the same lists and counts before and after other accounts store data', async () => {
    expect(await listedData('red')).toBe(listedBefore.get('red'));
    expect(await listedData('red')).toContain(objectsOf('red').word);
  });

  it.each(ACCOUNTS)('can read its own objects: %s', async (account) => {
    const mine = objectsOf(account);
    const reads = (await operations()).filter(({ method, path }) => method === 'GET' && path.includes('{'));
    expect(reads.length).toBeGreaterThanOrEqual(8);
    for (const { path } of reads)
      expect([path, (await ask(mine.key, 'GET', address(path, mine))).status]).toEqual([path, 200]);
  });

  const pairs = ACCOUNTS.flatMap((one) =>
    ACCOUNTS.filter((other) => other !== one).map((other) => [one, other]),
  );

  it.each(pairs)(
    'can neither read, change nor count any object of another account (account %s, objects of account %s)',
    async (mine, theirs) => {
      const [me, them] = [objectsOf(mine), objectsOf(theirs)];
      const secrets = [them.word, them.key, them.cursor, them.webhook, them.delivery, them.event];
      let before = await storedData(them.account);
      expect(before.size).toBeGreaterThan(8);
      for (const { method, path, operation } of await operations()) {
        // An admin of the account default may manage all accounts and their API keys, and read their audit logs.
        if (me.account === 'default' && /^\/v1\/(accounts|api-keys|audit)/.test(path)) continue;
        const at = address(path, them);
        const asked = at === path ? queriesFor(operation, them) : [''];
        for (const query of asked) {
          const answer = await ask(me.key, method, at + query, bodyFor(operation, them));
          const what = `${method} ${at}${query}`;
          if (at !== path) expect([what, answer.status]).toEqual([what, 404]);
          // A reply may repeat the request, but nothing else of the other account.
          const named = at + query;
          const leaked = secrets.filter((secret) => answer.text.includes(secret) && !named.includes(secret));
          expect([what, leaked]).toEqual([what, []]);
          const after = await storedData(them.account);
          expect([what, [...after]]).toEqual([what, [...before]]);
          before = after;
        }
      }
    },
  );

  it('can use the same idempotency key as another account for its own send', async () => {
    const send = (account: string): Promise<Answer> =>
      ask(
        objectsOf(account).key,
        'POST',
        '/v1/messages/send',
        { phoneNumber: PHONE, message: `other ${objectsOf(account).word}` },
        { 'idempotency-key': 'the-same' },
      );
    const answers = await Promise.all(ACCOUNTS.map(send));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, null, null]);
    expect(new Set(answers.map(({ text }) => (JSON.parse(text) as { id: string }).id)).size).toBe(3);
  });

  it('gets only its own contacts when all accounts read contacts at the same time', async () => {
    const asked = Array.from({ length: 30 }, (_, i) => objectsOf(ACCOUNTS[i % ACCOUNTS.length] ?? ''));
    const answers = await Promise.all(asked.map(({ key }) => ask(key, 'GET', '/v1/contacts')));
    for (const [i, { status, text }] of answers.entries()) {
      expect(status).toBe(200);
      const ids = (JSON.parse(text) as { contacts: { id: string }[] }).contacts.map(({ id }) => id);
      expect(ids).toEqual([asked[i]?.contact]);
    }
  });
});
