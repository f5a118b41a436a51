import { rowRedisKeys, rowUpdateLuaArguments } from '#conversations';
import { appendEventsLuaArguments, eventLogRedisKeys } from '#events';
import { accountKeys, type AccountKeys, parseRedisHashReply, type RedisClient } from '#platform';
import { packRebuildablePollState } from '../snapshot/rebuildable-poll-state.js';
import { pollReportLuaArguments, pollReportRedisKeys } from '../delay/redis-poll-report.js';
import { packContactJson, unpackContactJson } from '../snapshot/contact-json-codec.js';
import type { ContactUpdate, ListCommit } from '../contacts/list-commit.js';
import type { ExpeditePollsResult, FeedStore, Recipient, UnidentifiedContacts } from '../feed-store.js';
import type { CommittedPoll, PollCommit, UnchangedPoll } from '../poll/poll-commit.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { KnownContacts } from '../snapshot/known-contacts.js';
import type { NextDue } from '../poll/poll-queue.js';
import { type ContactStateLuaReply, contactStateOf } from './contact-state-reply.js';
import { UnchangedPollCommitter } from './redis-unchanged-poll-committer.js';
import type { FeedOverview } from '../schedule/feed-overview.js';
import { packKnownMessage, unpackKnownMessage } from '../snapshot/known-message-codec.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { packListedContact, unpackListedContact } from '../snapshot/listed-contact-codec.js';
import { ListedContacts } from '../snapshot/listed-contacts.js';
import { packId, unpackId } from '../snapshot/id-codec.js';
import { packPollState } from '../snapshot/poll-state-codec.js';
import type { ContactRates } from '../schedule/poll-interval-planner.js';
import { readFeedOverview } from './redis-feed-overview.js';
import { fieldsOfRedisHash } from './redis-hash-fields.js';
import { redisKeysOfContactsByPhoneNumber, readContactsOfPhoneNumber } from './redis-recipients.js';
import { readUnidentifiedContacts } from './redis-unidentified-contacts.js';
import {
  parseUnreadableElementHistory,
  serializeUnreadableElementHistory,
} from '../snapshot/unreadable-elements.js';
import {
  confirmDeletionsScript,
  commitContactsScript,
  commitPollScript,
  expeditePollScript,
  expeditePollsOfRecipientsScript,
  recordContactListFailureScript,
  readContactPollStateScript,
  readContactJsonScript,
  readContactsJsonScript,
  readContactListStateScript,
  readMessageRateHistogramScript,
  consumeContactListPollRequestScript,
} from './redis-feed-scripts.js';

/**
 * Maximum number of contacts that one script run commits. A running script blocks all other clients of Redis.
 */
const CONTACTS_A_COMMIT = 200;
/**
 * The contacts of a contact list are committed by several script runs. When the JSON of the contacts of a script
 * run is longer than this number of characters, further contacts are left to the next run.
 */
const CHARACTERS_A_COMMIT = 1_000_000;
/** Number of messages to request per HSCAN when all message snapshots of a contact are read. */
const KNOWN_A_SCAN = 1_000;
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

/** Implements {@link FeedStore} with Redis. */
export class RedisFeedStore implements FeedStore {
  private readonly unchangedPolls: UnchangedPollCommitter;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    /** Whether the rows of conversations are stored and updated. */
    private readonly rowsKept: 'on' | 'off' = 'on',
  ) {
    this.unchangedPolls = new UnchangedPollCommitter(redis, prefix);
  }

  async knownContacts(account: string): Promise<KnownContacts> {
    const keys = this.keys(account);
    const reply = await readContactListStateScript.run(this.redis, {
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
    const contacts = await this.listedContacts(keys('contacts'));
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
      scheduled: await this.redis.zcard(this.dueKey(account)),
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
  private async listedContacts(key: string): Promise<ListedContacts> {
    const contacts = new ListedContacts();
    for await (const [id, packed] of fieldsOfRedisHash(this.redis, key, CONTACTS_A_SCAN))
      contacts.set(id.toString(), unpackListedContact(packed));
    return contacts;
  }

  async contactRecord(
    account: string,
    contactId: string,
  ): Promise<{ raw: string; revision: number } | undefined> {
    const contact = this.keys(account)('c', contactId);
    const { text, revision } = (await readContactJsonScript.run(this.redis, { contact })) as {
      text?: string;
      revision?: string;
    };
    return text === undefined
      ? undefined
      : { raw: unpackContactJson(contactId, text), revision: Number(revision) };
  }

  async contactTexts(account: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const keys = this.keys(account);
    const texts = (await readContactsJsonScript.run(this.redis, {
      contacts: ids.map((id) => keys('c', id)),
    })) as string[];
    return new Map(
      ids.flatMap((id, i): [string, string][] => {
        const text = texts[i] ?? '';
        return text === '' ? [] : [[id, unpackContactJson(id, text)]];
      }),
    );
  }

  async commitContacts(
    account: string,
    { version, redisRun, startedAt, listedAt, upstream, service, ...commit }: ListCommit,
  ): Promise<boolean> {
    const { skipped, unreadable, updates, suspectSince, isReplaced, events } = commit;
    const keys = this.keys(account);
    const shared = {
      contacts: keys('contacts'),
      list: keys('contact-list'),
      due: this.dueKey(account),
      suspects: keys('suspects'),
      deep: this.deepKey(account),
      rates: keys('polls', 'rates'),
      upstreams: keys('upstreams'),
      ...eventLogRedisKeys(keys),
      ...redisKeysOfContactsByPhoneNumber(keys),
      ...rowRedisKeys(keys),
    };
    let expected = version;
    for await (const { part, last } of inParts(updates)) {
      const done = await commitContactsScript.run(
        this.redis,
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
          rowsKept: this.rowsKept,
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

  async recordContactListFailure(account: string, reason: string): Promise<void> {
    await recordContactListFailureScript.run(
      this.redis,
      { list: this.keys(account)('contact-list') },
      { reason },
    );
  }

  async contactState(account: string, contactId: string): Promise<ContactState | undefined> {
    const keys = this.keys(account);
    const { log, logCounters } = eventLogRedisKeys(keys);
    const reply = (await readContactPollStateScript.runForBuffers(
      this.redis,
      {
        contact: keys('c', contactId),
        messages: this.messagesKey(account, contactId),
        list: keys('contact-list'),
        contacts: keys('contacts'),
        log,
        logCounters,
        rows: rowRedisKeys(keys).rows,
      },
      { contactId },
    )) as ContactStateLuaReply;
    return contactStateOf(reply, this.rowsKept === 'on');
  }

  async knownMessages(
    account: string,
    contactId: string,
    ids: readonly string[],
  ): Promise<Map<string, KnownMessage>> {
    if (ids.length === 0) return new Map();
    const packed = await this.redis.hmgetBuffer(this.messagesKey(account, contactId), ...ids.map(packId));
    return new Map(
      ids.flatMap((id, i): [string, KnownMessage][] => {
        const bytes = packed[i];
        return bytes == null ? [] : [[id, unpackKnownMessage(bytes)]];
      }),
    );
  }

  async contactRates(account: string): Promise<ContactRates> {
    const keys = this.keys(account);
    const reply = await readMessageRateHistogramScript.run(this.redis, {
      rates: keys('polls', 'rates'),
      due: this.dueKey(account),
    });
    const { rates, contacts } = reply as { rates: string[]; contacts: number };
    const counts: [bucket: number, count: number][] = [];
    for (const [bucket, count] of parseRedisHashReply(rates)) counts.push([Number(bucket), Number(count)]);
    return { rates: new Map(counts.filter(([, count]) => count > 0)), contacts };
  }

  async allKnownMessages(account: string, contactId: string): Promise<Map<string, KnownMessage>> {
    const known = new Map<string, KnownMessage>();
    const key = this.messagesKey(account, contactId);
    for await (const [id, packed] of fieldsOfRedisHash(this.redis, key, KNOWN_A_SCAN))
      known.set(unpackId(id), unpackKnownMessage(packed));
    return known;
  }

  async commitPoll(
    account: string,
    contactId: string,
    commit: PollCommit,
  ): Promise<CommittedPoll | undefined> {
    const keys = this.keys(account);
    const { version, redisRun, expediteRequests, deletesSnapshots, suspectAt, messagesShownAt, unreadable } =
      commit;
    const {
      known,
      events,
      pollState,
      extension,
      bucket,
      dueInMs,
      baseline,
      deep,
      numbers,
      suspicion,
      row,
      report,
    } = commit;
    const reply = await commitPollScript.run(
      this.redis,
      {
        contact: keys('c', contactId),
        messages: this.messagesKey(account, contactId),
        due: this.dueKey(account),
        list: keys('contact-list'),
        suspects: keys('suspects'),
        deep: this.deepKey(account),
        rates: keys('polls', 'rates'),
        ...eventLogRedisKeys(keys),
        ...redisKeysOfContactsByPhoneNumber(keys),
        ...rowRedisKeys(keys),
        ...pollReportRedisKeys(keys, report.startedAt),
      },
      {
        contactId,
        version,
        pollState: pollState === undefined ? '' : packPollState(pollState),
        bucket: bucket ?? '',
        dueIn: dueInMs === undefined ? '' : Math.round(dueInMs),
        expediteRequests,
        deletesSnapshots: deletesSnapshots ? 'yes' : '',
        suspectAt: suspectAt ?? '',
        messagesShownAt: messagesShownAt ?? '',
        unreadable,
        messageCount: known.size,
        run: redisRun,
        suspicion: suspicion ?? '',
        extension: extension === undefined ? 'unchanged' : packRebuildablePollState(extension),
        baseline: typeof baseline === 'object' ? Math.round(baseline.emitAfter) : baseline,
        deepRead: typeof deep === 'object' ? (deep.overwrites ? 'replace' : 'atMost') : deep,
        deepIn: typeof deep === 'object' ? Math.round(deep.inMs) : '',
        longestPage: commit.longestPage ?? '',
        rowsKept: this.rowsKept,
        rowIsNew: row.isNew ? 'new' : '',
        changes: [
          ...[...known].flatMap(([id, message]) => [packId(id), packKnownMessage(message)]),
          ...lengthAndItems(numbers),
          ...rowUpdateLuaArguments(row),
          ...lengthAndItems(row.words ?? []),
          ...lengthAndItems(row.fieldNumbers ?? []),
          ...pollReportLuaArguments(report),
          ...appendEventsLuaArguments(account, events),
        ],
      },
    );
    return Array.isArray(reply) ? { delaysMs: reply.map(Number) } : undefined;
  }

  async commitUnchangedPoll(
    account: string,
    contactId: string,
    commit: UnchangedPoll,
  ): Promise<NextDue | undefined> {
    return this.unchangedPolls.commit(account, contactId, commit);
  }

  async expeditePoll(account: string, contactId: string, ms: number): Promise<void> {
    const contact = this.keys(account)('c', contactId);
    await expeditePollScript.run(
      this.redis,
      { due: this.dueKey(account), contact },
      { contactId, dueIn: ms },
    );
  }

  async expeditePollsOfRecipients(
    account: string,
    phoneNumbers: readonly string[],
    ms: number,
  ): Promise<ExpeditePollsResult> {
    const keys = this.keys(account);
    const reply = await expeditePollsOfRecipientsScript.run(
      this.redis,
      {
        contacts: keys('contacts'),
        list: keys('contact-list'),
        due: this.dueKey(account),
        ...redisKeysOfContactsByPhoneNumber(keys),
      },
      { contactPrefix: keys('c', ''), dueIn: ms, phoneNumbers },
    );
    const { expedited, wished } = reply as { expedited: number; wished: number };
    return { hasContacts: expedited > 0, requestsList: wished === 1 };
  }

  async requestContactListPoll(account: string): Promise<void> {
    await this.redis.hset(this.keys(account)('contact-list'), 'wished', 1);
  }

  async consumeContactListPollRequest(account: string): Promise<boolean> {
    return (
      Number(
        await consumeContactListPollRequestScript.run(this.redis, {
          list: this.keys(account)('contact-list'),
        }),
      ) === 1
    );
  }

  async recipientOf(account: string, phoneNumber: string): Promise<Recipient> {
    return readContactsOfPhoneNumber(this.redis, this.keys(account), phoneNumber);
  }

  async unidentifiedContacts(account: string, count: number): Promise<UnidentifiedContacts> {
    return readUnidentifiedContacts(this.redis, this.keys(account), count);
  }

  async overview(account: string): Promise<FeedOverview> {
    return readFeedOverview(this.redis, this.keys(account));
  }

  async confirmDeletions(account: string): Promise<void> {
    await confirmDeletionsScript.run(this.redis, { list: this.keys(account)('contact-list') });
  }

  private messagesKey(account: string, contactId: string): string {
    return this.keys(account)('m', contactId);
  }

  private dueKey(account: string): string {
    return this.keys(account)('polls', 'due');
  }

  private deepKey(account: string): string {
    return this.keys(account)('polls', 'deep');
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
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

function lengthAndItems(items: readonly string[]): (string | number)[] {
  return [items.length, ...items];
}
