import { rowRedisKeys, rowUpdateLuaArguments } from '#conversations';
import { appendEventsLuaArguments, eventLogRedisKeys } from '#events';
import { accountKeys, type AccountKeys, parseRedisHashReply, type RedisClient } from '#platform';
import { packRebuildablePollState } from '../snapshot/rebuildable-poll-state.js';
import { pollReportLuaArguments, pollReportRedisKeys } from '../delay/redis-poll-report.js';
import { unpackContactJson } from '../snapshot/contact-json-codec.js';
import type { ListCommit } from '../contacts/list-commit.js';
import type { ExpeditePollsResult, FeedStore, Recipient, UnidentifiedContacts } from '../feed-store.js';
import type { CommittedPoll, PollCommit, UnchangedPoll } from '../poll/poll-commit.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { ContactListSnapshot } from '../snapshot/contact-list-snapshot.js';
import type { NextDueTime } from '../poll/poll-queue.js';
import { type ContactStateLuaReply, contactStateOf } from './contact-state-reply.js';
import { RedisUnchangedPollCommitter } from './redis-unchanged-poll-committer.js';
import type { FeedOverview } from '../schedule/feed-overview.js';
import { packKnownMessage, unpackKnownMessage } from '../snapshot/known-message-codec.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { packId, unpackId } from '../snapshot/id-codec.js';
import { packPollState } from '../snapshot/poll-state-codec.js';
import type { ContactRates } from '../schedule/poll-interval-planner.js';
import { commitContactList, readContactListSnapshot } from './redis-contact-list.js';
import { readFeedOverview } from './redis-feed-overview.js';
import { fieldsOfRedisHash } from './redis-hash-fields.js';
import { lengthAndItems } from './redis-list-arguments.js';
import { redisKeysOfContactsByPhoneNumber, readContactsOfPhoneNumber } from './redis-recipients.js';
import { readUnidentifiedContacts } from './redis-unidentified-contacts.js';
import {
  confirmDeletionsScript,
  commitPollScript,
  expeditePollScript,
  expeditePollsOfRecipientsScript,
  recordContactListFailureScript,
  readContactPollStateScript,
  readContactJsonScript,
  readContactsJsonScript,
  readMessageRateHistogramScript,
  consumeContactListPollRequestScript,
} from './redis-feed-scripts.js';

/** Number of messages to request per HSCAN when all message snapshots of a contact are read. */
const MESSAGES_PER_SCAN = 1_000;

/** Implements {@link FeedStore} with Redis. */
export class RedisFeedStore implements FeedStore {
  private readonly unchangedPolls: RedisUnchangedPollCommitter;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    /** Whether the rows of conversations are stored and updated. */
    private readonly rowsKept: 'on' | 'off' = 'on',
  ) {
    this.unchangedPolls = new RedisUnchangedPollCommitter(redis, prefix);
  }

  async contactListSnapshot(account: string): Promise<ContactListSnapshot> {
    return readContactListSnapshot(this.redis, this.keys(account));
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

  async commitContacts(account: string, commit: ListCommit): Promise<boolean> {
    return commitContactList(this.redis, this.keys(account), account, this.rowsKept, commit);
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
    for await (const [id, packed] of fieldsOfRedisHash(this.redis, key, MESSAGES_PER_SCAN))
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
  ): Promise<NextDueTime | undefined> {
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
    const keys = this.keys(account);
    await confirmDeletionsScript.run(this.redis, { list: keys('contact-list'), suspects: keys('suspects') });
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
