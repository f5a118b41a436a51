import { rowRedisKeys } from '#conversations';
import { appendEventsLuaArguments, eventLogRedisKeys } from '#events';
import { type AccountKeys, parseRedisHashReply, type RedisClient } from '#platform';
import type { ContactUpdate, ListCommit } from '../contacts/list-commit.js';
import { packContactJson } from '../snapshot/contact-json-codec.js';
import type { ContactListSnapshot } from '../snapshot/contact-list-snapshot.js';
import { packListedContact, unpackListedContact } from '../snapshot/listed-contact-codec.js';
import { ListedContacts } from '../snapshot/listed-contacts.js';
import {
  parseUnreadableElementHistory,
  serializeUnreadableElementHistory,
} from '../snapshot/unreadable-elements.js';
import { commitContactsScript, readContactListStateScript } from './redis-feed-scripts.js';
import { fieldsOfRedisHash } from './redis-hash-fields.js';
import { lengthAndItems } from './redis-list-arguments.js';
import { redisKeysOfContactsByPhoneNumber } from './redis-recipients.js';

/**
 * Maximum number of contacts that one script run commits. A running script blocks all other clients of Redis.
 */
const CONTACTS_A_COMMIT = 200;
/**
 * The contacts of a contact list are committed by several script runs. When the JSON of the contacts of one script
 * run is longer than this number of characters, the next run commits the further contacts.
 */
const CHARACTERS_A_COMMIT = 1_000_000;
/** Number of contacts to request per HSCAN when the snapshot of the contact list is read. */
const CONTACTS_A_SCAN = 500;

/** Reply of `read-list.lua`: the stored state of the contact list. A value that is not stored is null. */
interface ListReply {
  now: string;
  revisionFloor: string;
  run: string;
  version: string | null;
  listedAt: string | null;
  suspectSince: string | null;
  deletionsConfirmedAt: string | null;
  suspectAt: string | null;
  count: string | null;
  skipped: string | null;
  upstream: string | null;
  unreadable: string | null;
  replacing: string | null;
  services: unknown[];
}

/** Returns the snapshot of an account's contact list. */
export async function readContactListSnapshot(
  redis: RedisClient,
  keys: AccountKeys,
): Promise<ContactListSnapshot> {
  const reply = await readContactListStateScript.run(redis, {
    list: keys('contact-list'),
    upstreams: keys('upstreams'),
  });
  const {
    now,
    revisionFloor,
    run,
    version,
    listedAt,
    suspectSince,
    deletionsConfirmedAt,
    suspectAt,
    ...last
  } = reply as ListReply;
  const { count, skipped, upstream, unreadable, replacing, services } = last;
  const contacts = await listedContactsIn(redis, keys('contacts'));
  const lost = Number(count ?? 0) > 0 && contacts.size === 0;
  return {
    version: Number(version ?? 0),
    now: Number(now),
    revisionFloor: Number(revisionFloor),
    redisRun: run,
    // If the stored contacts are lost, the next contact list cannot be compared with them. It then counts
    // as the first contact list.
    ...(listedAt == null || lost ? {} : { listedAt: Number(listedAt) }),
    wasListedBefore: listedAt != null,
    isReplacing: replacing != null && replacing === version,
    ...(suspectSince == null ? {} : { suspectSince: Number(suspectSince) }),
    ...(deletionsConfirmedAt == null ? {} : { deletionsConfirmedAt: Number(deletionsConfirmedAt) }),
    ...(suspectAt == null ? {} : { suspectAt: Number(suspectAt) }),
    skipped: Number(skipped ?? 0),
    ...(listedAt == null || lost
      ? {}
      : { unreadable: parseUnreadableElementHistory(unreadable, Number(skipped ?? 0)) }),
    scheduled: await redis.zcard(keys('polls', 'due')),
    ...(upstream == null ? {} : { upstream }),
    services: parseRedisHashReply(services),
    contacts,
  };
}

/**
 * Returns the contacts that are stored in the Redis hash `key`. If a commit changes the hash meanwhile, the
 * result may be inconsistent. The store then refuses a commit that is based on the result, because the version of
 * the contact list has changed.
 */
async function listedContactsIn(redis: RedisClient, key: string): Promise<ListedContacts> {
  const contacts = new ListedContacts();
  for await (const [id, packed] of fieldsOfRedisHash(redis, key, CONTACTS_A_SCAN))
    contacts.set(id.toString(), unpackListedContact(packed));
  return contacts;
}

/**
 * Stores the result of a read of the contact list.
 * @param rowsKept whether the rows of conversations are stored and updated
 * @returns false if another change of the list was committed, or Redis restarted or failed over, since the read
 * started
 */
export async function commitContactList(
  redis: RedisClient,
  keys: AccountKeys,
  account: string,
  rowsKept: 'on' | 'off',
  { version, redisRun, startedAt, listedAt, upstream, service, ...commit }: ListCommit,
): Promise<boolean> {
  const { skipped, unreadable, updates, suspectSince, isReplaced, events } = commit;
  const shared = {
    contacts: keys('contacts'),
    list: keys('contact-list'),
    due: keys('polls', 'due'),
    suspects: keys('suspects'),
    deep: keys('polls', 'deep'),
    rates: keys('polls', 'rates'),
    upstreams: keys('upstreams'),
    ...eventLogRedisKeys(keys),
    ...redisKeysOfContactsByPhoneNumber(keys),
    ...rowRedisKeys(keys),
  };
  let expected = version;
  for await (const { part, last } of inParts(updates)) {
    const done = await commitContactsScript.run(
      redis,
      { records: part.map(({ id }) => keys('c', id)), ...shared },
      {
        version: expected,
        // Only the commit of the last part marks the contact list as read. Otherwise, after a crash between
        // two parts of the account's first list, the contacts of the remaining parts would count as new.
        listedAt: last ? Math.round(listedAt) : '',
        suspectSince: suspectSince ?? '',
        count: part.length,
        run: redisRun,
        skipped,
        readAt: Math.round(startedAt),
        upstream,
        service,
        unreadable: serializeUnreadableElementHistory(unreadable),
        replaces: isReplaced ? 'yes' : '',
        rowsKept,
        changes: [
          ...part.flatMap(contactArguments),
          ...appendEventsLuaArguments(account, [
            ...part.flatMap(({ event }) => event ?? []),
            ...(last ? events : []),
          ]),
        ],
      },
    );
    if (done !== 1) return false;
    expected += 1;
  }
  return true;
}

/**
 * Splits the contact updates into parts. Each part is committed by one script run. Only the last part may be
 * empty.
 */
async function* inParts(
  updates: ListCommit['updates'],
): AsyncGenerator<{ part: ContactUpdate[]; last: boolean }> {
  let part: ContactUpdate[] = [];
  let characters = 0;
  for await (const update of updates) {
    if (part.length === CONTACTS_A_COMMIT || characters > CHARACTERS_A_COMMIT) {
      yield { part, last: false };
      part = [];
      characters = 0;
    }
    part.push(update);
    characters += update.raw?.length ?? 0;
  }
  yield { part, last: true };
}

function contactArguments({
  id,
  listed,
  raw,
  emitAfter,
  event,
  numbers,
  words,
}: ContactUpdate): (string | number | Buffer)[] {
  return [
    id,
    packListedContact(listed),
    raw === undefined ? '' : packContactJson(id, raw),
    emitAfter === undefined ? '' : Math.round(emitAfter),
    event?.revision ?? '',
    listed.deleted ? '' : 'yes',
    ...lengthAndItems(numbers),
    ...lengthAndItems(words?.all ?? []),
    ...lengthAndItems(words?.removed ?? []),
  ];
}
