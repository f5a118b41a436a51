import { type AccountKeys, LuaScript, type RedisClient } from '#platform';
import type { Recipient } from '../feed-store.js';
import { unpackListedContact } from '../snapshot/listed-contact-codec.js';

const readRecipientScript = LuaScript.from(import.meta.url, 'lua/read-recipient.lua');

/** Returns the contacts of a phone number, according to the contact lists and messages that were read so far. */
export async function readContactsOfPhoneNumber(
  redis: RedisClient,
  keys: AccountKeys,
  phoneNumber: string,
): Promise<Recipient> {
  const { readAt, suspectSince, deletionsConfirmedAt, rest } = (await readRecipientScript.runForBuffers(
    redis,
    { contacts: keys('contacts'), list: keys('contact-list'), ...redisKeysOfContactsByPhoneNumber(keys) },
    { phoneNumber },
  )) as Record<'readAt' | 'suspectSince' | 'deletionsConfirmedAt', Buffer> & { rest: Buffer[] };
  const contacts: Recipient['contacts'][number][] = [];
  for (let i = 0; i + 1 < rest.length; i += 2) {
    const [id, listed] = [rest[i], rest[i + 1]];
    if (id === undefined || listed === undefined) continue;
    const { deleted, missingSince } = unpackListedContact(listed);
    if (!deleted) contacts.push({ id: id.toString(), isMissing: missingSince !== undefined });
  }
  const [listReadAt, suspect, believed] = [readAt, suspectSince, deletionsConfirmedAt].map(timeOf);
  return {
    contacts,
    ...(listReadAt === undefined ? {} : { listReadAt }),
    isListSuspect: suspect !== undefined && (believed ?? 0) < suspect,
  };
}

function timeOf(text: Buffer | undefined): number | undefined {
  return text === undefined || text.length === 0 ? undefined : Number(text.toString());
}

/** Keys of the Redis hashes that say which contacts a phone number may belong to. */
export interface ContactsByPhoneNumberKeys {
  /** Key of the hash from a phone number to the id of the contact that it most likely belongs to. */
  numbers: string;
  /**
   * Key of the hash from a phone number to the ids of all other contacts that it may belong to: a JSON array, the most
   * likely contact first.
   */
  otherNumbers: string;
}

export function redisKeysOfContactsByPhoneNumber(keys: AccountKeys): ContactsByPhoneNumberKeys {
  return { numbers: keys('numbers'), otherNumbers: keys('numbers', 'others') };
}
