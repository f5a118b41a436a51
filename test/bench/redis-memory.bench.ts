// Bytes of Redis a contact with 20 known messages, everything included: used_memory before and after so many contacts were
// read by the product's own polls through its own store. Upstream is a source in this process that serves generated pages.
import { once } from 'node:events';
import { ABSENCE_MS, ContactListPoll, type FeedSource, RedisFeedStore } from '#feed';
import { closeRedis, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { parseMessage } from '#upstream';
import { parseContact } from '../../libs/upstream/src/contact.js';
import { withTestRedis } from '../support/redis-server.js';
import { contactPollOf } from './contact-poll.js';
import { atMost, heading, information } from './figures.js';
import { idOf, type IdShape, messagesOf, numberOf } from './messages.js';

const BOUND = 2_048;
const CONTACTS = 5_000;
const MESSAGES = 20;
const ACCOUNT = 'default';
const PREFIX = 'tidings';
/** The polls of so many contacts are under way at once. */
const AT_ONCE = 50;

const now = Date.now();

function some<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('What was generated cannot be read.');
  return value;
}

/** An upstream without HTTP: as many contacts, with as many messages each, newest first. */
function sourceOf(shape: IdShape): FeedSource {
  const numbers = new Map(Array.from({ length: CONTACTS }, (_, n) => [idOf(`contact ${n}`, shape), n]));
  return {
    listContacts: () => {
      const items = [...numbers].map(([id, n]) =>
        some(
          parseContact({
            id,
            name: `Ada Lovelace ${n}`,
            phoneNumber: numberOf(n),
            lastMessageAt: new Date(now - n * 1_000).toISOString(),
            unreadCount: n % 5,
          }),
        ),
      );
      return Promise.resolve({ items, skipped: 0, date: now });
    },
    listMessages: (_, contactId, page, limit) => {
      const newestFirst = messagesOf(some(numbers.get(contactId)), MESSAGES, now, shape).reverse();
      const items = newestFirst
        .slice((page - 1) * limit, page * limit)
        .map((message) => some(parseMessage(message)));
      return Promise.resolve({ items, skipped: 0, date: now });
    },
  };
}

async function usedMemory(redis: RedisClient): Promise<number> {
  const [, used] = /^used_memory:(\d+)/m.exec(await redis.info('memory')) ?? [];
  return Number(some(used));
}

/** Redis' own average over samples, for the sake of comparison. */
async function encodings(redis: RedisClient): Promise<string> {
  const key = `${PREFIX}:{${ACCOUNT}}:contact:${idOf('contact 7')}`;
  const kinds = await Promise.all([
    redis.object('ENCODING', key),
    redis.object('ENCODING', `${key}:messages`),
  ]);
  return kinds.map(String).join(', ');
}

async function bytesAContact(shape: IdShape): Promise<number> {
  return withTestRedis(async ({ url }) => {
    const redis = openRedis(parseRedisAddress(url), 'failFast', () => undefined);
    await once(redis, 'ready');
    try {
      const before = await usedMemory(redis);
      const store = new RedisFeedStore(redis, PREFIX);
      const source = sourceOf(shape);
      await new ContactListPoll(store, source, ABSENCE_MS).poll(ACCOUNT);
      const polls = contactPollOf(store, source);
      const ids = [...(await store.knownContacts(ACCOUNT)).contacts.keys()];
      // Twice: a second read finds nothing new, and leaves what a contact comes to in the long run.
      for (let reads = 0; reads < 2; reads += 1) {
        for (let at = 0; at < ids.length; at += AT_ONCE) {
          await Promise.all(ids.slice(at, at + AT_ONCE).map((id) => polls.poll(ACCOUNT, id)));
        }
      }
      const known = await store.allKnownMessages(ACCOUNT, some(ids[7]));
      if (ids.length !== CONTACTS || known.size !== MESSAGES) throw new Error('Not everything is known.');
      const after = await usedMemory(redis);
      if (shape === 'uuid') information(`encodings of a contact's keys: ${await encodings(redis)}`);
      return (after - before) / CONTACTS;
    } finally {
      await closeRedis(redis);
    }
  });
}

heading(`bytes of Redis a contact with ${MESSAGES} known messages: used_memory over ${CONTACTS} contacts`);
atMost(BOUND, await bytesAContact('uuid'), 'ids of 36 characters (UUIDs)');
atMost(BOUND, await bytesAContact('hex24'), 'ids of 24 characters');
