import { type AccountKeys, readRedisTime, type RedisClient } from '#platform';
import type { UnidentifiedContacts } from '../feed-store.js';
import { unpackListedContact } from '../snapshot/listed-contact-codec.js';
import { fieldsOfRedisHash } from './redis-hash-fields.js';
import { redisKeysOfContactsByPhoneNumber } from './redis-recipients.js';

/** Number of fields to request per HSCAN. */
const BATCH_SIZE = 500;

/** Returns at most `count` contacts of which neither a phone number nor a message is known. */
export async function readUnidentifiedContacts(
  redis: RedisClient,
  keys: AccountKeys,
  count: number,
): Promise<UnidentifiedContacts> {
  const startedAt = await readRedisTime(redis, keys('contact-list'));
  const listReadAt = await redis.hget(keys('contact-list'), 'readAt');
  const areMissing = new Map<string, boolean>();
  for await (const [id, packed] of fieldsOfRedisHash(redis, keys('contacts'), BATCH_SIZE)) {
    const { deleted, missingSince } = unpackListedContact(packed);
    if (!deleted) areMissing.set(id.toString(), missingSince !== undefined);
  }
  const { numbers, otherNumbers } = redisKeysOfContactsByPhoneNumber(keys);
  const shared = new Set<string>();
  // A phone number in the fields of several contacts may be the account's own, so it does not count as known.
  for await (const [number] of fieldsOfRedisHash(redis, otherNumbers, BATCH_SIZE))
    shared.add(number.toString());
  // The numbers are read after the contacts, so that a contact that gets a phone number in between is left out.
  for await (const [number, id] of fieldsOfRedisHash(redis, numbers, BATCH_SIZE))
    if (!shared.has(number.toString())) areMissing.delete(id.toString());
  const contacts: UnidentifiedContacts['contacts'][number][] = [];
  const left = [...areMissing.keys()];
  for (let at = 0; at < left.length && contacts.length < count; at += BATCH_SIZE) {
    const ids = left.slice(at, at + BATCH_SIZE);
    const haveMessages = await Promise.all(ids.map((id) => redis.exists(keys('m', id))));
    ids.forEach((id, n) => {
      if (haveMessages[n] === 0) contacts.push({ id, isMissing: areMissing.get(id) === true });
    });
  }
  return {
    ...{ startedAt, contacts: contacts.slice(0, count) },
    ...(listReadAt === null ? {} : { listReadAt: Number(listReadAt) }),
  };
}
