// Measures the Redis memory per contact with 20 known messages: used_memory before and after the product's
// own polls have read all contacts. Upstream is a source in this process that serves generated pages.
import { MIN_ABSENCE_UNTIL_DELETED_MS, ContactListPoller, type FeedSource, RedisFeedStore } from '#feed';
import { accountKeys, type RedisClient } from '#platform';
import { parseMessage } from '#upstream';
import { parseContact } from '../../libs/upstream/src/reply/contact.js';
import { contactListOf } from '../support/contact-list.js';
import { withTestRedis } from '../support/redis-server.js';
import { withConnection, usedMemory } from '../support/used-memory.js';
import { contactPollOf } from './contact-poll.js';
import { atMost, heading, information } from './figures.js';
import { idOf, type IdShape, messagesOf, numberOf } from './messages.js';

const BOUND = 2_048;
const CONTACTS = 5_000;
const MESSAGES = 20;
const ACCOUNT = 'default';
const PREFIX = 'tidings';
/** Number of concurrent polls. */
const CONCURRENT_POLLS = 50;

const now = Date.now();

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('Could not parse the generated data.');
  return value;
}

/** Returns an upstream without HTTP, with all contacts and messages, newest first. */
function sourceOf(shape: IdShape): FeedSource {
  const numbers = new Map(Array.from({ length: CONTACTS }, (_, n) => [idOf(`contact ${n}`, shape), n]));
  let lists = 0;
  return {
    listContacts: (_, __, newReader) => {
      lists += 1;
      const shown = [...numbers].slice(0, lists === 1 ? CONTACTS - 1 : CONTACTS);
      const items = shown.map(([id, n]) =>
        required(
          parseContact({
            id,
            name: `Ada Lovelace ${n}`,
            phoneNumber: numberOf(n),
            lastMessageAt: new Date(now - n * 1_000).toISOString(),
            unreadCount: n % 5,
          }),
        ),
      );
      return Promise.resolve(contactListOf(items, newReader, now));
    },
    listMessages: (_, contactId, page, limit) => {
      const newestFirst = messagesOf(required(numbers.get(contactId)), MESSAGES, now, shape).reverse();
      const items = newestFirst
        .slice((page - 1) * limit, page * limit)
        .map((message) => required(parseMessage(message)));
      return Promise.resolve({ items, skipped: 0, date: now });
    },
  };
}

/** Returns the encodings of a contact's keys, to check that Redis uses its compact encodings. */
async function encodings(redis: RedisClient): Promise<string> {
  const keys = ['c', 'm'].map((kind) => accountKeys(PREFIX, ACCOUNT)(kind, idOf('contact 7')));
  const kinds = await Promise.all(keys.map((key) => redis.object('ENCODING', key)));
  return kinds.map(String).join(', ');
}

async function readAll(redis: RedisClient, shape: IdShape): Promise<void> {
  // The rows of conversations have a benchmark of their own.
  const store = new RedisFeedStore(redis, PREFIX, 'off');
  const source = sourceOf(shape);
  const list = new ContactListPoller(store, source, MIN_ABSENCE_UNTIL_DELETED_MS);
  await list.poll(ACCOUNT);
  // The last contact appears only in the second list. This emits an event and creates the event log, which a
  // contact's record refers to.
  await list.poll(ACCOUNT);
  const polls = contactPollOf(store, source);
  const ids = [...(await store.contactListSnapshot(ACCOUNT)).contacts.keys()];
  // Reads twice. The second read finds nothing new and leaves the record in its usual state.
  for (let reads = 0; reads < 2; reads += 1) {
    for (let at = 0; at < ids.length; at += CONCURRENT_POLLS) {
      await Promise.all(ids.slice(at, at + CONCURRENT_POLLS).map((id) => polls.poll(ACCOUNT, id)));
    }
  }
  const known = await store.allKnownMessages(ACCOUNT, required(ids[7]));
  if (ids.length !== CONTACTS || known.size !== MESSAGES)
    throw new Error('Not all contacts and messages are known.');
  if (shape === 'uuid') information(`encodings of a contact's keys: ${await encodings(redis)}`);
}

async function bytesPerContact(shape: IdShape): Promise<number> {
  return withTestRedis(async ({ url }) => {
    const before = await usedMemory(url);
    await withConnection(url, async (redis) => {
      await readAll(redis, shape);
      // Frees Redis' latency histograms: 24 KB for each kind of command, however many contacts there are.
      await redis.config('RESETSTAT');
    });
    return ((await usedMemory(url)) - before) / CONTACTS;
  });
}

heading(`bytes of Redis a contact with ${MESSAGES} known messages: used_memory over ${CONTACTS} contacts`);
atMost(BOUND, await bytesPerContact('uuid'), 'ids of 36 characters (UUIDs)');
atMost(BOUND, await bytesPerContact('hex24'), 'ids of 24 characters');
