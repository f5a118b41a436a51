import { type AccountKeys, readRedisTime, type RedisClient } from '#platform';
import type { UnidentifiedContacts } from '../feed-store.js';
import { unpackListedContact } from '../snapshot/listed-contact-codec.js';
import { fieldsOfRedisHash } from './redis-hash-fields.js';
import { redisKeysOfContactsByPhoneNumber } from './redis-recipients.js';

/** Number of fields to request per HSCAN. */
const BATCH_SIZE = 500;

/** Returns the contacts for which neither a phone number nor a message is known. */
export async function readUnidentifiedContacts(
  redis: RedisClient,
  keys: AccountKeys,
): Promise<UnidentifiedContacts> {
  const startedAt = await readRedisTime(redis, keys('contact-list'));
  const listReadAt = await redis.hget(keys('contact-list'), 'readAt');
  const areMissing = new Map<string, boolean>();
  for await (const [id, packed] of fieldsOfRedisHash(redis, keys('contacts'), BATCH_SIZE)) {
    const { deleted, missingSince } = unpackListedContact(packed);
    if (!deleted) areMissing.set(id.toString(), missingSince !== undefined);
  }
  // The phone numbers are read after the contacts, so that a contact that gets a phone number in between is left
  // out.
  const { numbers, otherNumbers } = redisKeysOfContactsByPhoneNumber(keys);
  for await (const [, id] of fieldsOfRedisHash(redis, numbers, BATCH_SIZE)) areMissing.delete(id.toString());
  for await (const [, ids] of fieldsOfRedisHash(redis, otherNumbers, BATCH_SIZE)) {
    for (const id of JSON.parse(ids.toString()) as string[]) areMissing.delete(id);
  }
  const contacts: UnidentifiedContacts['contacts'][number][] = [];
  const left = [...areMissing.keys()];
  for (let at = 0; at < left.length; at += BATCH_SIZE) {
    const found = left.slice(at, at + BATCH_SIZE).map(async (id) => ({
      ...{ id, isMissing: areMissing.get(id) === true },
      hasMessages: (await redis.exists(keys('m', id))) === 1,
      // `m0` is the `PollState`, which the first read stores.
      wasRead: (await redis.hexists(keys('c', id), 'm0')) === 1,
    }));
    for (const { hasMessages, ...contact } of await Promise.all(found))
      if (!hasMessages) contacts.push(contact);
  }
  return { startedAt, contacts, ...(listReadAt === null ? {} : { listReadAt: Number(listReadAt) }) };
}
