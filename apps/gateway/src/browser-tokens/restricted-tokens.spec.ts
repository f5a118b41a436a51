import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisEventLog, type NewEvent } from '#events';
import type { Send, SendFilter, SendList, SendLookup, SendPage } from '#relay';
import { eventually } from '../../../../test/support/eventually.js';
import { type ApiDocument } from '../../../../test/support/openapi.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { describeApi } from '../docs/openapi.js';
import { REQUEST_EXAMPLES } from '../docs/request-bodies.js';
import { operationsOf } from '../docs/operations.js';
import { type SimpleType, someEvent } from '../fixtures/events.js';
import type { FakeSendService } from '../fixtures/fakes.js';
import { json, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { openStream } from '../fixtures/stream-client.js';
import { makeKey, makeToken } from '../fixtures/tokens.js';
import { SEND_LIST } from '../tokens.js';

/** The contact of the token, and another contact. Each has a number of its own, and they share one. */
const OWN = { id: 'c_own', number: '+14155550111', text: 'text-for-own' };
const OTHER = { id: 'c_other', number: '+14155550122', text: 'text-for-other' };
const SHARED_NUMBER = '+14155550133';
const UNKNOWN_NUMBER = '+14155550144';
/** Text of an event that belongs to the account as a whole. */
const ACCOUNT_TEXT = 'text-of-the-account';

/** Whatever a reply to the token of one contact must not contain. */
const FORBIDDEN_TEXTS = [OTHER.id, OTHER.text, OTHER.number, UNKNOWN_NUMBER, ACCOUNT_TEXT];

let redis: TestRedis;
let gateway: TestGateway;
let log: RedisEventLog;
let token: string;
let sends: Record<'own' | 'other' | 'bound' | 'boundElsewhere' | 'shared' | 'unknown', string>;
let events: Record<'own' | 'other' | 'ownSend' | 'otherSend' | 'account', string>;

/** Lists the sends of the fake intake, newest first. A call examines at most ten sends. */
class FakeSendList implements SendList {
  intake: Pick<FakeSendService, 'sends'> = { sends: new Map<string, Send>() };

  async list(account: string, { accepts }: SendFilter, limit: number, before?: number): Promise<SendPage> {
    const all = [...this.intake.sends].flatMap(([key, send]) =>
      key.startsWith(`${account}/`) ? [send] : [],
    );
    const end = before ?? all.length;
    const start = Math.max(0, end - Math.min(limit, 10));
    const page = all.slice(start, end).reverse();
    const accepted = await Promise.all(page.map(async (one) => (await accepts?.(one)) ?? true));
    return { sends: page.filter((_, i) => accepted[i]), ...(start === 0 ? {} : { next: start }) };
  }

  overview(): Promise<never> {
    return Promise.reject(new Error('not used'));
  }
}
const list = new FakeSendList();

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({
    redisUrl: redis.url,
    environment: { TOKEN_RATE_LIMIT_PER_MINUTE: '100000', RATE_LIMIT_PER_MINUTE: '100000' },
    bound: [{ provide: SEND_LIST, useValue: list }],
  });
  list.intake = gateway.sends;
  log = new RedisEventLog(gateway.redis, 'tidings');
  // Stores which contacts own a number, as the feed does.
  await gateway.redis.hset('tidings:{default}:numbers', {
    [OWN.number]: OWN.id,
    [OTHER.number]: OTHER.id,
    [SHARED_NUMBER]: OTHER.id,
  });
  await gateway.redis.hset('tidings:{default}:numbers:others', SHARED_NUMBER, JSON.stringify([OWN.id]));
  // Stores the rows of conversations, as the feed does.
  for (const [i, { id, number, text }] of [OWN, OTHER].entries()) {
    const row = { m: [1_000 + i, `m_${id}`, 'i', text], n: [number], v: i };
    await gateway.redis.hset('tidings:{default}:conversations', id, JSON.stringify(row));
    await gateway.redis.zadd('tidings:{default}:conversations:order', 1_000 + i, id);
  }
  await gateway.redis.zadd('tidings:{default}:conversations:order', 500, UNKNOWN_NUMBER);
  token = (await makeToken(gateway, { contactIds: [OWN.id] })).token;
  sends = {
    own: await send(OWN.number, OWN.text),
    other: await send(OTHER.number, OTHER.text),
    bound: await send(UNKNOWN_NUMBER.replace('44', '55'), OWN.text, OWN.id),
    boundElsewhere: await send(OWN.number, OTHER.text, OTHER.id),
    shared: await send(SHARED_NUMBER, OWN.text),
    unknown: await send(UNKNOWN_NUMBER, OTHER.text),
  };
  events = {
    own: await append(eventOf('message.received', OWN.id, OWN.text)),
    other: await append(eventOf('message.received', OTHER.id, OTHER.text)),
    ownSend: await append(sendEvent('own')),
    otherSend: await append(sendEvent('other')),
    account: await append(eventOf('upstream.unavailable', '', ACCOUNT_TEXT)),
  };
  for (const name of ['bound', 'boundElsewhere', 'shared', 'unknown'] as const) await append(sendEvent(name));
  await append(eventOf('contact.created', OTHER.id, OTHER.text));
  // The last event is visible to the token, so a reader that received it has examined all earlier events.
  await append(eventOf('contact.created', OWN.id, OWN.text));
  const shared = gateway.sends.sends.get(`default/${sends.shared}`);
  if (shared !== undefined) shared.lookups = [LOOKUP];
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

async function send(phoneNumber: string, message: string, contactId: string | null = null): Promise<string> {
  const reply = await gateway.fetch('/v1/messages/send', json({ phoneNumber, message }));
  const { id } = (await reply.json()) as { id: string };
  const stored = gateway.sends.sends.get(`default/${id}`);
  if (stored !== undefined) stored.contactId = contactId;
  return id;
}

/** A look-up of a send to a number that two contacts have. */
const LOOKUP: SendLookup = {
  ...{ at: '2026-01-01T00:00:00.000Z', since: '2025-12-31T23:59:50.000Z', outcome: 'not_found' },
  ...{ contactIds: [OWN.id, OTHER.id], messagesRead: 2, error: null },
  candidates: [OWN, OTHER].map(({ id }) => ({
    ...{ contactId: id, messageId: `m_${id}`, sentAt: null, reason: 'r', sendId: null },
  })),
};

let revision = 0;

/** Returns an event with a new revision, because events of {@link someEvent} differ only in their revision. */
function eventOf(type: SimpleType, contactId: string, text: string): NewEvent {
  revision += 1;
  return someEvent(type, revision, contactId, text);
}

/** Appends an event, and returns its id. */
async function append(event: NewEvent): Promise<string> {
  await log.append('default', [event]);
  const { events: all } = await log.read('default', undefined, 1_000);
  return all.at(-1)?.id ?? '';
}

function sendEvent(name: keyof typeof sends): NewEvent {
  const stored = gateway.sends.sends.get(`default/${sends[name]}`);
  revision += 1;
  return {
    type: 'send.accepted',
    subject: `send:${sends[name]}`,
    revision,
    data: { send: { ...stored } },
  };
}

const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  gateway.fetch(path, { ...init, token });
const POST = { method: 'POST' };

/** An operation with a rule, and requests that prove the rule. */
type Entry =
  /**
   * Requests for objects of the contact succeed. Requests for all other objects get 404, or 403 if the request has no
   * id of an object.
   */
  | { rule: 'contact'; own: Request[]; others: Request[]; refusal: 403 | 404 }
  /** The reply has everything of the contact and nothing else. `parts` returns the ids in a reply. */
  | {
      rule: 'filtered';
      paths: string[];
      parts: (path: string) => Promise<string[]>;
      expected: () => string[];
    }
  | { rule: 'denied' }
  | { rule: 'keys-only' }
  /** Tokens cannot have the scope. */
  | { rule: 'no scope' }
  /** Needs no credential, and has no data of an account. */
  | { rule: 'public' };
type Request = () => Promise<Response>;

const eventIdsOf = async (path: string): Promise<string[]> => {
  const text = await (await ask(path)).text();
  expectNothingOfOthers(text);
  return (JSON.parse(text) as { events: { id: string }[] }).events.map(({ id }) => id);
};
/**
 * Returns the ids of all events in the log that the token may see: the events of its contact and of the sends to its
 * contact.
 */
const visibleEvents = (): string[] => [...visible];
let visible: string[] = [];

const TABLE: Readonly<Record<string, Entry>> = {
  'get /v1/contacts': { rule: 'denied' },
  'get /v1/contacts/{id}': { rule: 'denied' },
  'get /v1/contacts/{id}/messages': {
    rule: 'contact',
    own: [() => ask(`/v1/contacts/${OWN.id}/messages`), () => ask('/v1/contacts/c%5Fown/messages?page=1')],
    others: [OTHER.id, 'c_none', '..', `${OWN.id}%2F..%2F${OTHER.id}`, 'C_OWN', `${OWN.id}%20`].map(
      (id) => () => ask(`/v1/contacts/${id}/messages`),
    ),
    refusal: 404,
  },
  'get /v1/conversations': {
    rule: 'filtered',
    paths: ['/v1/conversations', '/v1/conversations?limit=1', '/v1/conversations?q=%2B1415555'],
    parts: async (path) => {
      const text = await (await ask(path)).text();
      expectNothingOfOthers(text);
      return (JSON.parse(text) as { conversations: { id: string }[] }).conversations.map(({ id }) => id);
    },
    expected: () => [OWN.id],
  },
  'get /v1/conversations/{id}': {
    rule: 'contact',
    own: [OWN.id, encodeURIComponent(OWN.number)].map((id) => () => ask(`/v1/conversations/${id}`)),
    others: [OTHER.id, OTHER.number, UNKNOWN_NUMBER, 'c_none'].map(
      (id) => () => ask(`/v1/conversations/${encodeURIComponent(id)}`),
    ),
    refusal: 404,
  },
  'get /v1/conversations/{id}/timeline': {
    rule: 'contact',
    own: [() => ask(`/v1/conversations/${OWN.id}/timeline`)],
    others: [OTHER.id, OTHER.number, UNKNOWN_NUMBER, 'c_none'].map(
      (id) => () => ask(`/v1/conversations/${encodeURIComponent(id)}/timeline`),
    ),
    refusal: 404,
  },
  'post /v1/conversations/{id}/seen': {
    rule: 'contact',
    own: [() => ask(`/v1/conversations/${OWN.id}/seen`, json({ upTo: `m_${OWN.id}` }))],
    others: [OTHER.id, UNKNOWN_NUMBER].map(
      (id) => () => ask(`/v1/conversations/${encodeURIComponent(id)}/seen`, json({ upTo: `m_${OTHER.id}` })),
    ),
    refusal: 404,
  },
  'post /v1/messages/send': {
    rule: 'contact',
    own: [OWN.number, SHARED_NUMBER].map(
      (phoneNumber) => () => ask('/v1/messages/send', json({ phoneNumber, message: OWN.text })),
    ),
    others: [OTHER.number, UNKNOWN_NUMBER].flatMap((phoneNumber) => [
      () => ask('/v1/messages/send', json({ phoneNumber, message: 'x' })),
      () => ask('/v1/messages/send', { ...POST, body: formOf(phoneNumber) }),
    ]),
    refusal: 403,
  },
  'get /v1/sends': {
    rule: 'filtered',
    paths: ['/v1/sends?limit=100', '/v1/sends?limit=1', '/v1/sends?limit=2', `/v1/sends?limit=3`],
    parts: async (path) => {
      const ids: string[] = [];
      for (let next: string | null = ''; next !== null;) {
        const text = await (await ask(`${path}${next === '' ? '' : `&cursor=${next}`}`)).text();
        expectNothingOfOthers(text);
        const page = JSON.parse(text) as { sends: { id: string }[]; next: string | null };
        ids.push(...page.sends.map(({ id }) => id));
        ({ next } = page);
      }
      return ids;
    },
    expected: () =>
      [...gateway.sends.sends.values()]
        .filter(({ message }) => message === OWN.text)
        .map(({ id }) => id)
        .reverse(),
  },
  'get /v1/sends/{id}': {
    rule: 'contact',
    own: (['own', 'bound', 'shared'] as const).map((name) => () => ask(`/v1/sends/${sends[name]}`)),
    others: (['other', 'boundElsewhere', 'unknown'] as const).map(
      (name) => () => ask(`/v1/sends/${sends[name]}`),
    ),
    refusal: 404,
  },
  'post /v1/sends/{id}/cancel': {
    rule: 'contact',
    own: [async () => ask(`/v1/sends/${await send(OWN.number, OWN.text)}/cancel`, POST)],
    others: (['other', 'boundElsewhere', 'unknown'] as const).map(
      (name) => () => ask(`/v1/sends/${sends[name]}/cancel`, POST),
    ),
    refusal: 404,
  },
  'post /v1/sends/{id}/resolve': { rule: 'denied' },
  'post /v1/sends/resolve': { rule: 'denied' },
  'get /v1/events': {
    rule: 'filtered',
    paths: ['/v1/events', '/v1/events?limit=1000', '/v1/events?wait=1', '/v1/events?last=1000'],
    parts: eventIdsOf,
    expected: visibleEvents,
  },
  'get /v1/events/stream': {
    rule: 'filtered',
    paths: ['/v1/events/stream'],
    parts: async (path) => {
      const { epoch } = await log.end('default');
      const start = Buffer.from(`${epoch}/0-0`).toString('base64url');
      const authorization = { authorization: `Bearer ${token}` };
      const client = await openStream(`${gateway.url}${path}?after=${start}`, authorization);
      // The stream reads the log in order, so all earlier events have been considered when the last one arrives.
      await eventually('the last event arrives', () => client.events().length >= visibleEvents().length);
      client.disconnect();
      expectNothingOfOthers(client.text());
      return client.events().map((text) => (JSON.parse(text) as { id: string }).id);
    },
    expected: visibleEvents,
  },
  'get /v1/events/{id}': {
    rule: 'contact',
    own: (['own', 'ownSend'] as const).map((name) => () => ask(`/v1/events/${events[name]}`)),
    others: (['other', 'otherSend', 'account'] as const).map(
      (name) => () => ask(`/v1/events/${events[name]}`),
    ),
    refusal: 404,
  },
  'get /v1/caller': {
    rule: 'filtered',
    paths: ['/v1/caller'],
    parts: async (path) => {
      const text = await (await ask(path)).text();
      expectNothingOfOthers(text);
      return (JSON.parse(text) as { contactIds: string[] }).contactIds;
    },
    expected: () => [OWN.id],
  },
  'post /v1/tokens': { rule: 'keys-only' },
  'delete /v1/tokens/{id}': { rule: 'keys-only' },
  'get /v1/webhooks': { rule: 'no scope' },
  'post /v1/webhooks': { rule: 'no scope' },
  'get /v1/webhooks/{id}': { rule: 'no scope' },
  'patch /v1/webhooks/{id}': { rule: 'no scope' },
  'delete /v1/webhooks/{id}': { rule: 'no scope' },
  'get /v1/webhooks/{id}/secret': { rule: 'no scope' },
  'post /v1/webhooks/{id}/rotate-secret': { rule: 'no scope' },
  'post /v1/webhooks/{id}/test': { rule: 'no scope' },
  'post /v1/webhooks/{id}/replay': { rule: 'no scope' },
  'post /v1/webhooks/{id}/deliveries': { rule: 'no scope' },
  'get /v1/webhooks/{id}/deliveries': { rule: 'no scope' },
  'get /v1/deliveries': { rule: 'no scope' },
  'get /v1/deliveries/{id}': { rule: 'no scope' },
  'post /v1/deliveries/{id}/retry': { rule: 'no scope' },
  'get /v1/stats': { rule: 'denied' },
  'get /v1/status': { rule: 'no scope' },
  'get /v1/accounts': { rule: 'no scope' },
  'post /v1/accounts': { rule: 'no scope' },
  'get /v1/accounts/{id}': { rule: 'no scope' },
  'patch /v1/accounts/{id}': { rule: 'no scope' },
  'delete /v1/accounts/{id}': { rule: 'no scope' },
  'post /v1/accounts/{id}/confirm-deletions': { rule: 'no scope' },
  'get /v1/api-keys': { rule: 'no scope' },
  'get /v1/audit': { rule: 'no scope' },
  'post /v1/api-keys': { rule: 'no scope' },
  'delete /v1/api-keys/{id}': { rule: 'no scope' },
  'get /health/live': { rule: 'public' },
  'get /health/ready': { rule: 'public' },
  'get /metrics': { rule: 'public' },
};

function formOf(phoneNumber: string): FormData {
  const form = new FormData();
  form.append('file', new Blob(['content']), 'a.txt');
  form.append('phoneNumber', phoneNumber);
  return form;
}

function expectNothingOfOthers(text: string): void {
  for (const forbidden of FORBIDDEN_TEXTS) expect(text).not.toContain(forbidden);
}

/** The operations of the OpenAPI document, such as `get /v1/sends`. */
function documented(): { name: string; method: string; path: string; body?: object }[] {
  const document = describeApi(gateway.app);
  const { paths } = document as unknown as ApiDocument;
  return [...new Set(operationsOf(document).map(({ path }) => path))].flatMap((path) =>
    Object.entries(paths[path] ?? {}).map(([method, { requestBody }]) => {
      const schema = requestBody?.content['application/json']?.schema as { $ref?: string } | undefined;
      const body = REQUEST_EXAMPLES[schema?.$ref?.split('/').at(-1) ?? ''];
      return { name: `${method} ${path}`, method, path, ...(body === undefined ? {} : { body }) };
    }),
  );
}

it('the OpenAPI document says which operations accept tokens', () => {
  const acceptsTokens = (rule: Entry['rule'] = 'public'): boolean =>
    ['contact', 'filtered', 'denied'].includes(rule);
  const { paths } = describeApi(gateway.app) as unknown as ApiDocument;
  for (const { name, method, path } of documented()) {
    const { security } = paths[path]?.[method] ?? {};
    const schemes = [{ apiKey: [] }, { bearerAuth: [] }];
    // Operations without schemes of their own have that of the whole document: the API key.
    const expected = acceptsTokens(TABLE[name]?.rule) ? schemes : path.startsWith('/v1') ? undefined : [{}];
    expect([name, security]).toEqual([name, expected]);
  }
});

describe('a token that is restricted to one contact', () => {
  it('is tested with every operation of the OpenAPI document', () => {
    const names = documented().map(({ name }) => name);
    expect(names.length).toBeGreaterThan(30);
    expect(Object.keys(TABLE).sort()).toEqual(names.sort());
  });

  it('gets 403 with the reason from every operation that the token must not use', async () => {
    const reasons = {
      denied: 'restricted to contacts',
      'keys-only': 'requires an API key',
      'no scope': 'does not have',
    };
    for (const { name, method, path, body } of documented()) {
      const { rule } = TABLE[name] ?? { rule: 'denied' };
      if (!(rule in reasons)) continue;
      // The ids exist, so that an operation without a rule would succeed or show something.
      const id = path.includes('contacts') ? OWN.id : path.includes('accounts') ? 'default' : sends.own;
      const init =
        body === undefined
          ? { method: method.toUpperCase() }
          : { ...json(body), method: method.toUpperCase() };
      const problem = await problemOf(await ask(path.replace('{id}', id), init));
      expect([name, problem.code]).toEqual([name, 'forbidden']);
      if (method === 'get') {
        const head = await ask(path.replace('{id}', id), { method: 'HEAD' });
        expect([name, head.status]).toEqual([name, 403]);
      }
      expect([name, problem.detail]).toEqual([
        name,
        expect.stringContaining(reasons[rule as keyof typeof reasons]),
      ]);
    }
  });

  it.each(
    Object.entries(TABLE).flatMap(([name, entry]) => (entry.rule === 'contact' ? [{ name, ...entry }] : [])),
  )(
    'gets the objects of its contact from $name, and the status $refusal for all other objects',
    async ({ own, others, refusal }) => {
      gateway.upstream.messages = [{ id: 'm1', message: OWN.text }];
      for (const request of own) {
        const reply = await request();
        const text = await reply.text();
        expect([reply.status, text]).toEqual([text === '' ? 204 : 200, expect.any(String)]);
        expectNothingOfOthers(text);
      }
      const before = { calls: gateway.upstream.calls.length, sends: gateway.sends.requests.length };
      for (const request of others) expect((await problemOf(await request())).status).toBe(refusal);
      // No request was sent to upstream, and nothing was stored or changed.
      expect(gateway.upstream.calls.length).toBe(before.calls);
      expect(gateway.sends.requests.length).toBe(before.sends);
      for (const name of ['other', 'boundElsewhere', 'unknown'] as const)
        expect(gateway.sends.sends.get(`default/${sends[name]}`)?.status).toBe('queued');
      expect(await gateway.blobs()).toEqual([]);
    },
  );

  it.each(
    Object.entries(TABLE).flatMap(([name, entry]) => (entry.rule === 'filtered' ? [{ name, ...entry }] : [])),
  )('gets everything of its contact from $name, and nothing else', async ({ paths, parts, expected }) => {
    visible = await eventsByWords();
    expect(expected()).not.toEqual([]);
    for (const path of paths) expect([path, await parts(path)]).toEqual([path, expected()]);
  });

  it('gets 400 for undocumented fields of a send and undocumented query parameters, which the messaging service could understand as other contacts', async () => {
    const before = { calls: gateway.upstream.calls.length, sends: gateway.sends.requests.length };
    const given = { phoneNumber: OWN.number, message: 'x' };
    const extra = { to: OTHER.number };
    const asForm = new FormData();
    for (const [name, value] of Object.entries({ ...given, ...extra })) asForm.append(name, value);
    const faultsOf = async (path: string, init: RequestInit = {}): Promise<unknown> => {
      const { status, errors } = await problemOf(await ask(path, init));
      return { status, errors };
    };
    const restricted = 'a token that is restricted to contacts permits';
    const faults = (field: string, kind: string): unknown => ({
      status: 400,
      errors: [{ field, message: `is not a documented ${kind}; ${restricted} documented ${kind}s only` }],
    });
    for (const init of [json({ ...given, ...extra }), { ...POST, body: asForm }])
      expect(await faultsOf('/v1/messages/send', init)).toEqual(faults('to', 'field'));
    const messages = `/v1/contacts/${OWN.id}/messages`;
    expect(await faultsOf(`${messages}?contact=${OTHER.id}`)).toEqual(faults('contact', 'parameter'));
    expect(await faultsOf(`${messages}?Page=2`)).toEqual({
      status: 400,
      errors: [{ field: 'Page', message: 'is not a known field; use page instead' }],
    });
    expect(gateway.upstream.calls.length).toBe(before.calls);
    expect(gateway.sends.requests.length).toBe(before.sends);
    // A field with the value null counts as absent.
    const reply = await ask('/v1/messages/send', json({ ...given, message: OWN.text, other: null }));
    expect(reply.status).toBe(200);
    gateway.upstream.messages = [];
    expect((await gateway.fetch(`${messages}?contact=${OTHER.id}`)).status).toBe(200);
  });

  it('gets no more information from the health checks and metrics than a request without a token', async () => {
    expectNothingOfOthers(await (await ask('/health/ready')).text());
    expect((await ask('/metrics', { headers: { via: 'a proxy' } })).status).toBe(401);
  });

  it('gets an empty list for the events of another contact, and for events without a contact', async () => {
    expect(await eventIdsOf(`/v1/events?contactId=${OTHER.id}`)).toEqual([]);
    expect(await eventIdsOf('/v1/events?types=upstream.*,webhook.*,account.*')).toEqual([]);
    expect((await eventIdsOf(`/v1/events?contactId=${OWN.id}`)).length).toBe(2);
  });

  it('gets no events of a send to another contact', async () => {
    expect(await eventIdsOf(`/v1/events?sendId=${sends.own}`)).toEqual([events.ownSend]);
    expect(await eventIdsOf(`/v1/events?sendId=${sends.other}`)).toEqual([]);
  });

  it('gets only events of its contact if it filters events by a messageId that another contact also has', async () => {
    expect(await eventIdsOf('/v1/events?messageId=x')).toEqual([events.own]);
  });

  it('gets new events of its contact from a stream and a long poll; other events do not end the long poll', async () => {
    const client = await openStream(`${gateway.url}/v1/events/stream`, { authorization: `Bearer ${token}` });
    await eventually('the stream is open', () => client.lastId());
    const poll = eventIdsOf('/v1/events?after=now&wait=20');
    await eventually(
      'the poll waits',
      async () =>
        Number(
          ((await gateway.redis.call('PUBSUB', 'NUMSUB', 'tidings:{default}:events:grown')) as unknown[])[1],
        ) > 0,
    );
    await append(eventOf('message.received', OTHER.id, OTHER.text));
    await append(eventOf('upstream.recovered', '', ACCOUNT_TEXT));
    for (const name of ['other', 'boundElsewhere', 'unknown'] as const) await append(sendEvent(name));
    const own = await append(eventOf('message.received', OWN.id, OWN.text));
    await eventually('the event arrives', () => client.text().includes(own));
    expect(client.events()).toHaveLength(1);
    expect(await poll).toEqual([own]);
    expectNothingOfOthers(client.text());
    client.disconnect();
  });
});

describe('an idempotency key', () => {
  const message = 'once';
  const sendWith = async (
    credential: { token?: string; key?: string },
    idempotencyKey = 'k1',
  ): Promise<{ id: string; replayed: boolean }> => {
    const body = json({ phoneNumber: OWN.number, message }, { 'idempotency-key': idempotencyKey });
    const reply = await gateway.fetch('/v1/messages/send', { ...body, ...credential });
    expect(reply.status).toBe(200);
    const { id } = (await reply.json()) as { id: string };
    return { id, replayed: reply.headers.get('idempotent-replayed') === 'true' };
  };

  it('of a restricted token is shared only by tokens with the same API key and the same contacts', async () => {
    const [first, second] = [await makeKey(gateway), await makeKey(gateway)];
    const tokenOf = async (key: string, contactIds?: string[]): Promise<{ token: string }> => {
      const made = await makeToken(gateway, contactIds === undefined ? {} : { contactIds }, key);
      return { token: made.token };
    };
    const separate = [
      { key: first.key },
      await tokenOf(first.key, [OWN.id]),
      await tokenOf(first.key, [OWN.id, OTHER.id]),
      await tokenOf(second.key, [OWN.id]),
    ];
    const ids = [];
    for (const credential of separate) {
      const { id, replayed } = await sendWith(credential);
      expect(replayed).toBe(false);
      ids.push(id);
    }
    expect(new Set(ids).size).toBe(separate.length);
    // Another token with the same API key and contacts continues the same keys, in any order of the contacts.
    expect(await sendWith(await tokenOf(first.key, [OWN.id]))).toEqual({ id: ids[1], replayed: true });
    const turned = await tokenOf(first.key, [OTHER.id, OWN.id, OTHER.id]);
    expect(await sendWith(turned)).toEqual({ id: ids[2], replayed: true });
  });

  it('of an API key or an unrestricted token is shared by the whole account', async () => {
    const { key } = await makeKey(gateway);
    const { token: open } = await makeToken(gateway, {}, key);
    const { id } = await sendWith({}, 'k2');
    expect(await sendWith({ key }, 'k2')).toEqual({ id, replayed: true });
    expect(await sendWith({ token: open }, 'k2')).toEqual({ id, replayed: true });
  });
});

describe('the sends to a phone number that no contact of the token has', () => {
  it('are not listed, and the response has no cursor for a further page', async () => {
    const path = (number: string): string => `/v1/sends?limit=1&phoneNumber=${encodeURIComponent(number)}`;
    expect(await (await ask(path(OTHER.number))).json()).toMatchObject({ sends: [], next: null });
    expect(await (await ask(path(OWN.number))).json()).toMatchObject({ sends: [{ id: expect.any(String) }] });
  });
});

describe('the field lookups of a send', () => {
  it('contains only contacts of the token for a caller with a restricted token, and all contacts for other callers', async () => {
    const path = `/v1/sends/${sends.shared}`;
    const lookupsOf = async (reply: Response): Promise<unknown> => ((await reply.json()) as Send).lookups;
    const [own] = LOOKUP.candidates;
    expect(await lookupsOf(await ask(path))).toEqual([
      { ...LOOKUP, contactIds: [OWN.id], candidates: [own] },
    ]);
    expect(await lookupsOf(await gateway.fetch(path))).toEqual([LOOKUP]);
  });
});

describe('a token without restriction', () => {
  it('sees everything of the account that an API key with the same scopes sees', async () => {
    const { token: open } = await makeToken(gateway);
    for (const path of ['/v1/events?limit=1000', '/v1/contacts', `/v1/sends/${sends.other}`]) {
      const reply = await gateway.fetch(path, { token: open });
      expect([path, reply.status, await reply.text()]).toEqual([
        path,
        200,
        await (await gateway.fetch(path)).text(),
      ]);
    }
  });
});

/** Ids of the events that belong to the contact, from the log itself: by contact, or by the text of the send. */
async function eventsByWords(): Promise<string[]> {
  const { events: all } = await log.read('default', undefined, 1_000);
  return all.filter(({ data }) => data.includes(OWN.text)).map(({ id }) => id);
}
