// Measures the rows of conversations with 100,000 contacts: bytes of Redis, what they add to a commit of the feed and to
// a send, and how quickly a gateway lists and searches them.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type RowKeys, rowRedisKeys } from '#conversations';
import { RedisFeedStore } from '#feed';
import { accountKeys, clockOfThisMachine, pause, type RedisClient } from '#platform';
import { Agent, request } from 'undici';
import type { ContactUpdate } from '../../libs/feed/src/contacts/list-commit.js';
import type { PollCommit } from '../../libs/feed/src/poll/poll-commit.js';
import { searchWordsOfContact } from '../../libs/conversations/src/search/search-words.js';
import { EMPTY_POLL_STATE } from '../../libs/feed/src/snapshot/poll-state.js';
import { EMPTY_REBUILDABLE_POLL_STATE } from '../../libs/feed/src/snapshot/rebuildable-poll-state.js';
import { RedisRelayStore } from '../../libs/relay/src/redis/redis-relay-store.js';
import { startProcess } from '../support/process.js';
import { withTestRedis } from '../support/redis-server.js';
import { withConnection } from '../support/used-memory.js';
import { atMost, exactly, heading, information, median, short } from './figures.js';
import { idOf, messagesOf, numberOf } from './messages.js';

const CONTACTS = 100_000;
const ACCOUNT = 'default';
const PREFIX = 'tidings';
const MAX_ROW_BYTES = 800;
const MAX_COST = 1.15;
const MAX_P99_MS = 20;
const REQUESTS_PER_SECOND = 200;
const SECONDS = 15;
const CONCURRENT_COMMITS = 50;
const FIRST_NAMES = [
  'Ada',
  'Grace',
  'Alan',
  'Edsger',
  'Barbara',
  'Donald',
  'Margaret',
  'Ken',
  'Frances',
  'John',
];

const now = Date.now();
const contactIdOf = (n: number): string => idOf(`contact ${n}`);
/** A name of which the first word is frequent and the second is rare. */
const nameOf = (n: number): string => `${FIRST_NAMES[n % FIRST_NAMES.length] ?? ''} Lovelace${n}`;

function contactOf(n: number): ContactUpdate {
  const fields = { id: contactIdOf(n), name: nameOf(n), phoneNumber: numberOf(n) };
  return {
    id: fields.id,
    listed: { fingerprint: '0123456789abcdef', deleted: false },
    raw: JSON.stringify(fields),
    numbers: [numberOf(n)],
    words: { all: searchWordsOfContact(fields), removed: [] },
    emitAfter: now,
  };
}

async function listContacts(store: RedisFeedStore, count: number): Promise<void> {
  const { version, redisRun } = await store.contactListSnapshot(ACCOUNT);
  const done = await store.commitContacts(ACCOUNT, {
    ...{
      version,
      redisRun,
      startedAt: now,
      listedAt: now,
      skipped: 0,
      upstream: 'a',
      service: 'a',
      isReplaced: false,
      events: [],
    },
    unreadable: { count: 0, at: 0, base: 0, rises: [] },
    updates: Array.from({ length: count }, (_, n) => contactOf(n)),
  });
  if (!done) throw new Error('The contact list was not committed.');
}

/** Commits one new inbound message of a contact, as a poll does. */
async function commitMessage(store: RedisFeedStore, n: number, at: number, text: string): Promise<void> {
  const contactId = contactIdOf(n);
  const state = await store.contactState(ACCOUNT, contactId);
  if (state === undefined) throw new Error('The contact is unknown.');
  const id = idOf(`message ${n} ${at}`);
  const message = {
    id,
    from: numberOf(n),
    message: text,
    direction: 'inbound',
    timestamp: new Date(at).toISOString(),
  };
  const commit: PollCommit = {
    ...{ version: state.version, redisRun: state.redisRun, expediteRequests: state.expediteRequests },
    ...{ deletesSnapshots: false, unreadable: 0, pollState: EMPTY_POLL_STATE, baseline: 'unchanged' },
    ...{ extension: EMPTY_REBUILDABLE_POLL_STATE, bucket: 1, dueInMs: 60_000, deep: 'unchanged' },
    known: new Map([
      [
        id,
        {
          ...{
            direction: 'inbound',
            delivered: false,
            read: false,
            deliveredEmitted: false,
            readEmitted: false,
          },
          fingerprint: { high: 1, low: at | 0, fields: [] },
          ...{ revision: 1, deleted: false, timestamp: at },
        },
      ],
    ]),
    events: [
      {
        ...{ type: 'message.received', contactId, subject: `message:${id}`, revision: 1 },
        data: { contactId, message },
      },
    ],
    numbers: [numberOf(n)],
    row: {
      isNew: false,
      entries: [
        {
          kind: 'message',
          message: { id, direction: 'inbound', at, phoneNumber: numberOf(n), preview: text, isUnread: true },
        },
      ],
    },
    report: { startedAt: at, arrivals: [], interval: { min: 2_000, max: 300_000 } },
  };
  if ((await store.commitPoll(ACCOUNT, contactId, commit)) === undefined)
    throw new Error('The commit was refused.');
}

async function fill(redis: RedisClient): Promise<void> {
  const store = new RedisFeedStore(redis, PREFIX);
  await listContacts(store, CONTACTS);
  for (let n = 0; n < CONTACTS; n += CONCURRENT_COMMITS) {
    const batch = Array.from({ length: CONCURRENT_COMMITS }, (_, i) => n + i);
    await Promise.all(
      batch.map((contact) => {
        const text = messagesOf(contact, 1, now)[0]?.message ?? '';
        return commitMessage(store, contact, now - contact * 1_000, text);
      }),
    );
  }
}

async function bytesOf(redis: RedisClient, keys: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const key of keys) bytes += Number(await redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'));
  return bytes / CONTACTS;
}

async function measureMemory(redis: RedisClient): Promise<void> {
  heading(`bytes of Redis a row: MEMORY USAGE over ${CONTACTS} contacts with one message each`);
  const { rows, rowOrder, rowSends, rowWords }: RowKeys = rowRedisKeys(accountKeys(PREFIX, ACCOUNT));
  atMost(
    MAX_ROW_BYTES,
    await bytesOf(redis, [rows, rowOrder, rowSends]),
    'the row and its place in the list',
  );
  information(`its search words: ${short(await bytesOf(redis, [rowWords]))}`);
}

/** Returns the median ratio of the durations of two kinds of work, which take turns. */
async function costRatio(
  rounds: number,
  work: (rowsKept: 'on' | 'off', round: number) => Promise<void>,
): Promise<number> {
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const ms = { on: 0, off: 0 };
    for (const rowsKept of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
      const began = performance.now();
      await work(rowsKept, round);
      ms[rowsKept] = performance.now() - began;
    }
    // The first rounds warm up.
    if (round >= 4) ratios.push(ms.on / ms.off);
  }
  return median(ratios);
}

const COUNT_A_ROUND = 400;
const ROUNDS = 24;

async function measureCosts(redis: RedisClient): Promise<void> {
  heading(
    'cost with rows relative to the cost without: median of alternating rounds, each call with its round trips',
  );
  const feeds = {
    on: new RedisFeedStore(redis, 'cost-on', 'on'),
    off: new RedisFeedStore(redis, 'cost-off', 'off'),
  };
  for (const store of Object.values(feeds)) await listContacts(store, COUNT_A_ROUND);
  const commits = await costRatio(ROUNDS, async (rowsKept, round) => {
    for (let n = 0; n < COUNT_A_ROUND; n += 1)
      await commitMessage(
        feeds[rowsKept],
        n,
        now + round * 1_000 + n,
        'See you at the station at half past six.',
      );
  });
  atMost(MAX_COST, commits, 'commit of a poll with one new message');
  const relays = {
    on: new RedisRelayStore(redis, 'cost-on', clockOfThisMachine, 'on'),
    off: new RedisRelayStore(redis, 'cost-off', clockOfThisMachine, 'off'),
  };
  const sends = await costRatio(ROUNDS, async (rowsKept, round) => {
    for (let n = 0; n < COUNT_A_ROUND; n += 1) {
      const id = `snd_${rowsKept}_${round}_${n}`;
      const order = { id, type: 'text', phoneNumber: numberOf(n), message: 'Hello', createdAt: now + round };
      await relays[rowsKept].insert(ACCOUNT, order);
      let record = await relays[rowsKept].find(ACCOUNT, id);
      for (const transition of ['fenced', 'accepted', 'found'] as const) {
        if (record === undefined) throw new Error('A transition was refused.');
        const { attempts, refusals } = record.state;
        record = await relays[rowsKept].apply(ACCOUNT, record, { transition, state: { attempts, refusals } });
      }
    }
  });
  atMost(MAX_COST, sends, 'a send from its acceptance to sent');
}

/** Requests of a front end. Each search has its own kind of query. */
const QUERIES: readonly ((n: number) => string)[] = [
  () => 'limit=50',
  () => 'limit=50',
  (n) =>
    `limit=50&cursor=${Buffer.from(JSON.stringify([now - n * 1_000, contactIdOf(n)])).toString('base64url')}`,
  (n) => `q=lovelace${n}`,
  () => 'q=grace',
  (n) => `q=${encodeURIComponent(nameOf(n))}`,
  (n) => `q=${numberOf(n).slice(-7)}`,
];

async function measureRequests(redisUrl: string): Promise<void> {
  heading(
    `list and search over HTTP: ${REQUESTS_PER_SECOND} requests/s for ${SECONDS} s, one gateway process`,
  );
  let upstreamRequests = 0;
  const upstream = createServer((_, response) => {
    upstreamRequests += 1;
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const apiKey = 'a-key-of-the-benchmark';
  const gateway = await startProcess('gateway', {
    ...{
      REDIS_URL: redisUrl,
      PORT: '0',
      API_KEY: apiKey,
      LOG_LEVEL: 'warn',
      RATE_LIMIT_PER_MINUTE: '1000000',
    },
    UPSTREAM_BASE_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`,
    ...{ UPSTREAM_API_KEY: 'none', ENCRYPTION_KEY: randomBytes(32).toString('base64') },
  });
  const agent = new Agent({ connections: 50 });
  const times = new Map<string, number[]>();
  try {
    const ask = async (i: number): Promise<void> => {
      const query = QUERIES[i % QUERIES.length]?.((i * 7_919) % CONTACTS) ?? '';
      const kind = i % QUERIES.length < 3 ? 'list' : 'search';
      const began = performance.now();
      const { statusCode, body } = await request(
        `http://127.0.0.1:${gateway.port}/v1/conversations?${query}`,
        {
          dispatcher: agent,
          headers: { 'x-api-key': apiKey },
        },
      );
      const { conversations } = (await body.json()) as { conversations?: unknown[] };
      if (statusCode !== 200 || conversations?.length === 0)
        throw new Error(`${statusCode} without a result: ${query}`);
      times.get(kind)?.push(performance.now() - began);
    };
    for (let i = 0; i < 200; i += 1) await ask(i);
    times.set('list', []).set('search', []);
    const asked: Promise<void>[] = [];
    const began = performance.now();
    for (let i = 0; i < REQUESTS_PER_SECOND * SECONDS; i += 1) {
      await pause(Math.max(began + (i * 1_000) / REQUESTS_PER_SECOND - performance.now(), 0));
      asked.push(ask(i));
    }
    await Promise.all(asked);
    for (const [kind, all] of times) {
      const sorted = all.toSorted((a, b) => a - b);
      const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
      atMost(MAX_P99_MS, at(0.99), `${kind}: p99 in ms (p50 ${short(at(0.5))}, ${sorted.length} requests)`);
    }
    exactly(0, upstreamRequests, 'requests to upstream');
  } finally {
    await agent.close();
    await gateway.stop();
    upstream.close();
  }
}

await withTestRedis(async ({ url }) => {
  await withConnection(url, async (redis) => {
    await measureCosts(redis);
    await fill(redis);
    await measureMemory(redis);
  });
  await measureRequests(url);
});
