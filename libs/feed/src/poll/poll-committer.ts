import { type RowUpdate, searchWordsOfContact } from '#conversations';
import type { NewEvent } from '#events';
import { isRecord, type Logger } from '#platform';
import { phoneNumbersOf, type UpstreamMessage } from '#upstream';
import { createAccountSuspectEvent } from '../diff/absence.js';
import { arrivalTimesOfNewMessages } from '../delay/poll-report.js';
import { compareMessages } from '../diff/compared-message.js';
import { diffMessages } from '../diff/diff.js';
import type { FeedSettings } from './feed-settings.js';
import type { FeedStore } from '../feed-store.js';
import type { PollCommit } from './poll-commit.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { isPlaceholder } from '../walk/read-in-parts.js';
import { sortOldestFirst } from '../walk/page-order.js';
import type { ReplyTime } from '../walk/page-reader.js';
import { addUnreadableElementHashes, type PollState } from '../snapshot/poll-state.js';
import { packPollState } from '../snapshot/poll-state-codec.js';
import { NextReadPlanner } from './next-read-planner.js';
import { baselineAfter, eventRuleOfFirstRead, resyncEvent, revisionFloorAfterLoss } from './baseline.js';
import { MissingMessages } from './missing-messages.js';
import type { CommitKind, PollStart } from './poll-start.js';
import { pollStateAfterRead } from './poll-state-after-read.js';
import { ReadBinder } from './read-binder.js';
import { rebuildablePollStateAfterRead } from './rebuildable-poll-state-after-read.js';
import { type RowUpdateInput, conversationRowUpdateOf } from './row-update.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';
import type { RecordedMessages, SendBinder } from '../ports.js';
import type { NextDue } from './poll-queue.js';
import type { PagesRead } from '../walk/pages-read.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';
import {
  type VolatileMessageFieldsUpdate,
  unpackVolatileMessageFields,
} from '../form/volatile-message-fields.js';

/**
 * Compares a read of messages with the snapshot, and commits the events, the new snapshots and the next due
 * times.
 */
export class PollCommitter {
  private readonly nextReads: NextReadPlanner;
  private readonly sends: ReadBinder;
  private readonly missing: MissingMessages;

  constructor(
    private readonly store: FeedStore,
    binder: SendBinder,
    recordedMessages: RecordedMessages,
    private readonly settings: FeedSettings,
    private readonly logger: Logger,
    private readonly volatile?: VolatileFieldStore,
  ) {
    this.nextReads = new NextReadPlanner(store, settings);
    this.sends = new ReadBinder(binder);
    this.missing = new MissingMessages(binder, recordedMessages, settings);
  }

  /**
   * Commits a read of messages.
   * @param known stored snapshots, by message id: at least those of the messages that were read; at the end of a deep
   * read, those of all known messages of the contact; none if the commit starts a new baseline
   * @returns true if the read was committed or contained nothing to commit; false if the commit was refused; see
   * `FeedStore.commitPoll`
   */
  async commit(
    start: PollStart,
    reading: PagesRead,
    known: ReadonlyMap<string, KnownMessage>,
    kind: CommitKind,
  ): Promise<boolean> {
    const { account, contactId, state, resync } = start;
    const observed = sortOldestFirst(reading.served, reading.order);
    const compared = compareMessages(observed, known);
    const { sends, uncommitted } = await this.sends.bind(start, reading, compared);
    const revisionFloor =
      resync === undefined ? state.pollState.revisionFloor : revisionFloorAfterLoss(state);
    const newRevisionsAbove = Math.max(state.revisionFloor, revisionFloor ?? 0);
    const firstReadEventRule = eventRuleOfFirstRead(start, reading, this.settings.undated);
    const changes = diffMessages({
      contactId,
      compared,
      volatility: unpackVolatileMessageFields(state.extension.volatile),
      sends,
      ...(firstReadEventRule === undefined ? {} : { firstReadEventRule }),
      revisionFloor: newRevisionsAbove,
    });
    const absence =
      reading.fullRead?.isStable === true
        ? this.missing.find(start, reading, reading.fullRead, known, newRevisionsAbove)
        : undefined;
    const next = new Map([...changes.known, ...(absence?.known ?? [])]);
    const unreadable = addUnreadableElementHashes(state.pollState.unreadable, reading.unreadable);
    const placeholders = reading.unreadable.filter(isPlaceholder);
    const { added: skipped } = addUnreadableElementHashes(state.pollState.unreadable, placeholders);
    if (kind === 'page' && resync === undefined && next.size === 0 && unreadable.added === 0) return true;
    const events: NewEvent[] = [
      ...(resync === undefined ? [] : [resyncEvent(contactId, state, resync)]),
      ...changes.events,
    ];
    events.push(...(await this.missing.deletionEvents(account, contactId, absence?.deleted ?? [])));
    const suspected = absence?.suspected ?? 0;
    const suspectEvent = suspected > 0 ? accountSuspectEventOf(contactId, state, suspected) : undefined;
    if (suspectEvent !== undefined) events.push(suspectEvent);
    if (unreadable.added > 0) {
      this.logger.warn(
        { account, contactId, count: unreadable.added },
        'skipped messages that cannot be read; they emit no events',
      );
    }
    const pollState = pollStateAfterRead({
      state,
      deletesSnapshots: resync !== undefined,
      reading,
      known,
      next,
      absence,
      unreadable: unreadable.hashes,
      revisionFloor,
      settings: this.settings,
    });
    // A message that is first found by a read of older messages may have arrived long before the last poll.
    // The time of that poll is therefore not used to estimate when the message arrived.
    const readAt = kind === 'head' ? state.extension.readAt : undefined;
    const arrivals = arrivalTimesOfNewMessages({ contactId, startedAt: state.now, readAt, observed, events });
    const schedule =
      kind === 'head'
        ? await this.nextReads.ofNewestMessages(start, reading.upstreamAheadMs, pollState, arrivals)
        : undefined;
    const isQuiet =
      kind === 'head' &&
      resync === undefined &&
      // While a request to poll the contact sooner is open, the commit must store the poll state. Otherwise the
      // request would stay open.
      state.expediteRequests === 0 &&
      next.size === 0 &&
      events.length === 0 &&
      isSamePollState(pollState, state.pollState);
    // A resync ends only with a read of all pages during which no message moved between pages. Any other read may
    // have missed messages. The resync also continues while messages are missing, because the cause may be an
    // outage.
    const endsResync = kind === 'end' && state.extension.resyncing === true && absence?.pending === false;
    const extension = rebuildablePollStateAfterRead(start, reading, kind, changes.volatile, {
      isQuiet,
      endsResync,
    });
    const row = await this.rowUpdate(start, {
      hasRow: state.hasRow,
      isResync: resync !== undefined,
      endsResync,
      observed,
      before: known,
      changed: changes.known,
      events,
      sends,
      uncommittedSends: uncommitted,
      deleted: absence?.deleted ?? [],
      fullRead: reading.fullRead,
      clock: { now: state.now, upstreamAheadMs: reading.upstreamAheadMs },
    });
    const committed = await this.store.commitPoll(account, contactId, {
      version: state.version,
      redisRun: state.redisRun,
      expediteRequests: state.expediteRequests,
      deletesSnapshots: resync !== undefined,
      ...(suspected > 0 ? { suspectAt: state.now } : {}),
      suspicion: suspectSinceToStore(pollState, state.pollState, resync !== undefined),
      ...(reading.served.length > 0 ? { messagesShownAt: state.now } : {}),
      ...(reading.longestPage > state.longestPage ? { longestPage: reading.longestPage } : {}),
      unreadable: unreadable.added,
      known: next,
      events,
      ...(isQuiet ? {} : { pollState }),
      ...(extension === undefined ? {} : { extension: { ...extension, ...schedule?.extension } }),
      ...(schedule === undefined ? {} : { bucket: schedule.bucket, dueInMs: schedule.dueInMs }),
      baseline: baselineAfter(start, reading),
      deep: this.nextReads.ofOlderMessages(start, reading, pollState, kind),
      // Phone numbers are taken only from new and reappeared messages. A change of an old message does not
      // show who owns the phone number now.
      numbers: numbersIn(reading.served.filter(({ id }) => next.has(id) && known.get(id)?.deleted !== false)),
      row,
      report: {
        startedAt: state.now,
        // The clock difference is calculated from `startedAt` and `upstreamDate`, the time of a later reply.
        // At the end of a deep read, `startedAt` is set again and no reply follows, so `upstreamDate` is left
        // out.
        ...(reading.date === undefined || kind === 'end' ? {} : { upstreamDate: reading.date }),
        arrivals,
        interval: this.settings.interval,
        ...(skipped > 0 ? { skipped } : {}),
      },
    });
    if (committed === undefined) return false;
    if (sends.size > 0) this.sends.forget(start, observed);
    if (reading.detectsVolatility) await this.logVolatility(account, contactId, changes.volatile);
    return true;
  }

  /** See {@link ReadBinder.hasUncommittedSends}. */
  hasUncommittedSends(contact: Pick<PollStart, 'account' | 'contactId'>): boolean {
    return this.sends.hasUncommittedSends(contact);
  }

  /**
   * Commits a read of the newest messages that found no changes, because its first page is the same as at an earlier
   * read; see `isUnchangedFirstPageEnough`. Ends the claim of the contact.
   * @param reply time of upstream's reply; undefined if it had no `Date` header
   * @param lease id of the claim's lease; absent if the contact was not claimed
   * @returns when the account's next contact is due; undefined if the commit was refused; see `FeedStore.commitPoll`
   */
  async commitUnchanged(
    start: PollStart,
    reply: ReplyTime | undefined,
    lease: string | undefined,
  ): Promise<NextDue | undefined> {
    const { account, contactId, state } = start;
    const { extension, bucket, dueInMs } = await this.nextReads.ofNewestMessages(
      start,
      upstreamClockDifferenceMs(reply, state),
      state.pollState,
      [],
    );
    return this.store.commitUnchangedPoll(account, contactId, {
      version: state.version,
      redisRun: state.redisRun,
      ...(lease === undefined ? {} : { lease }),
      extension: { ...state.extension, ...extension, readAt: state.now },
      ...{ bucket, dueInMs },
      showsMessages: state.pollState.head !== '',
      report: {
        startedAt: state.now,
        ...(reply === undefined ? {} : { upstreamDate: reply.date }),
        arrivals: [],
        interval: this.settings.interval,
      },
    });
  }

  /**
   * Returns the changes of the contact's conversation row. A new row also gets the search words and phone numbers
   * from the contact's own fields.
   */
  private async rowUpdate({ account, contactId }: PollStart, input: RowUpdateInput): Promise<RowUpdate> {
    const update = conversationRowUpdateOf(input);
    if (!update.isNew) return update;
    const record = await this.store.contactRecord(account, contactId);
    const fields: unknown = JSON.parse(record?.raw ?? '{}');
    if (!isRecord(fields)) return update;
    const contact = { id: contactId, raw: fields };
    return { ...update, words: searchWordsOfContact(fields), fieldNumbers: phoneNumbersOf(contact) };
  }

  private async logVolatility(
    account: string,
    contactId: string,
    { newlyMuted: muted, newlyUnmuted: unmuted }: VolatileMessageFieldsUpdate,
  ): Promise<void> {
    if (muted.length > 0) {
      this.logger.info(
        { account, contactId, fields: muted },
        'message fields are muted, because their values differ at nearly every read: changes of these fields emit no events',
      );
    }
    if (unmuted.length > 0) {
      this.logger.info(
        { account, contactId, fields: unmuted },
        'message fields are no longer muted: changes of these fields emit events again',
      );
    }
    await this.volatile?.countMessageFields(account, { muted, unmuted });
  }
}

/**
 * Returns since when missing messages of the contact have made an outage likely, in milliseconds since 1970.
 * Returns `over` if an outage is no longer likely, and undefined if an outage was likely neither before nor after
 * the read.
 */
function suspectSinceToStore(
  { suspectSince }: PollState,
  before: PollState,
  deletesSnapshots: boolean,
): PollCommit['suspicion'] {
  return suspectSince ?? (before.suspectSince !== undefined || deletesSnapshots ? 'over' : undefined);
}

function isSamePollState(a: PollState, b: PollState): boolean {
  return packPollState(a).equals(packPollState(b));
}

/**
 * Returns the contact's own phone numbers: the recipients of outbound messages and the senders of inbound
 * messages.
 */
function numbersIn(messages: readonly UpstreamMessage[]): string[] {
  const numbers = messages.map(({ direction, from, to }) =>
    direction === 'outbound' ? to : direction === 'inbound' ? from : undefined,
  );
  return [...new Set(numbers.filter((number) => number !== undefined))];
}

/** Returns the event `account.suspect`; undefined if the account was already suspect. */
function accountSuspectEventOf(
  contactId: string,
  { now, suspectAt }: ContactState,
  count: number,
): NewEvent | undefined {
  const reason = 'upstream shows far fewer messages of a contact than before';
  return createAccountSuspectEvent(now, suspectAt, { reason, count, contactId });
}
