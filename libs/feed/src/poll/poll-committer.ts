import { type RowUpdate, searchWordsOfContact } from '#conversations';
import type { NewEvent } from '#events';
import { isRecord, type Logger } from '#platform';
import { phoneNumbersOf, type UpstreamMessage } from '#upstream';
import {
  type AbsenceResult,
  classifyMissingMessages,
  createMessageDeletionEvent,
  isAccountSuspect,
  createAccountSuspectEvent,
  unconfirmedSuspectSince,
} from '../diff/absence.js';
import { arrivalTimesOfNewMessages } from '../delay/poll-report.js';
import { compareMessages } from '../diff/compared-message.js';
import { diffMessages, eventSubjectOfMessage } from '../diff/diff.js';
import type { FeedSettings } from './feed-settings.js';
import type { FeedStore } from '../feed-store.js';
import type { PollCommit } from './poll-commit.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { FirstRead } from '../diff/first-read.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { isPlaceholder } from '../walk/read-in-parts.js';
import { sortOldestFirst } from '../walk/page-order.js';
import type { ReplyTime } from '../walk/page-reader.js';
import { addUnreadableElementHashes, type PollState } from '../snapshot/poll-state.js';
import { packPollState } from '../snapshot/poll-state-codec.js';
import { NextReadPlanner } from './next-read-planner.js';
import { type CommitKind, type PollStart, MESSAGES_REPLACED_REASON } from './poll-start.js';
import { pollStateAfterRead } from './poll-state-after-read.js';
import { ReadBinder } from './read-binder.js';
import { rebuildablePollStateAfterRead } from './rebuildable-poll-state-after-read.js';
import { type RowUpdateInput, conversationRowUpdateOf } from './row-update.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';
import type { RecordedMessages, SendBinder } from '../ports.js';
import type { NextDue } from './poll-queue.js';
import type { FullRead, PagesRead } from '../walk/pages-read.js';
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

  constructor(
    private readonly store: FeedStore,
    private readonly binder: SendBinder,
    private readonly recordedMessages: RecordedMessages,
    private readonly settings: FeedSettings,
    private readonly logger: Logger,
    private readonly volatile?: VolatileFieldStore,
  ) {
    this.nextReads = new NextReadPlanner(store, settings);
    this.sends = new ReadBinder(binder);
  }

  /**
   * Commits a read of messages.
   * @param known stored snapshots, by message id: at least those of the messages that were read; at the end of a deep
   * read, those of all known messages of the contact; none if the commit starts a new baseline
   * @returns true if the read was committed or contained nothing to commit; false if another read of the
   * contact was committed meanwhile
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
    const revisionFloor = resync === undefined ? state.pollState.revisionFloor : floorAfterLoss(state);
    const newRevisionsAbove = Math.max(state.revisionFloor, revisionFloor ?? 0);
    const firstRead = this.firstRead(start, reading);
    const changes = diffMessages({
      contactId,
      compared,
      volatility: unpackVolatileMessageFields(state.extension.volatile),
      sends,
      ...(firstRead === undefined ? {} : { firstRead }),
      revisionFloor: newRevisionsAbove,
    });
    const absence =
      reading.fullRead?.isStable === true
        ? this.absences(start, reading, reading.fullRead, known, newRevisionsAbove)
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
    events.push(...(await this.deletions(account, contactId, absence?.deleted ?? [])));
    const suspected = absence?.suspected ?? 0;
    const suspicion = suspected > 0 ? suspicionOf(contactId, state, suspected) : undefined;
    if (suspicion !== undefined) events.push(suspicion);
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
      suspicion: suspicionIn(pollState, state.pollState, resync !== undefined),
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

  /**
   * True if sends were bound to messages of the contact, but no commit contains these messages yet. The next read
   * must then commit the messages even if they have not changed.
   */
  hasUncommittedSends(contact: Pick<PollStart, 'account' | 'contactId'>): boolean {
    return this.sends.hasUncommittedSends(contact);
  }

  /**
   * Commits a read of the newest messages that found no changes, because its first page is the same as at an
   * earlier read; see `isUnchangedIfPageIs`. Ends the claim of the contact.
   * @param reply time of upstream's reply; undefined if it had no `Date` header
   * @param lease id of the claim's lease; absent if the contact was not claimed
   * @returns when the account's next contact is due; undefined if another read of the contact was committed
   * meanwhile
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

  private absences(
    { contactId, state }: PollStart,
    reading: PagesRead,
    { seen, knownBefore, startedAt }: FullRead,
    all: ReadonlyMap<string, KnownMessage>,
    revisionFloor: number,
  ): AbsenceResult {
    // Leaves out messages that became known during the deep read and are on none of its pages. These messages
    // are new, not missing.
    const known = new Map([...all].filter(([id]) => knownBefore.has(id) || seen.has(id)));
    const { listSuspectSince, deletionsConfirmedAt = 0, suspectAt = 0, messagesShownAt = 0 } = state;
    const isListSuspect = unconfirmedSuspectSince(listSuspectSince, deletionsConfirmedAt) !== undefined;
    // If upstream shows no message of this contact, that alone does not indicate an outage. An outage is
    // likely if the account is already suspect, or if upstream shows no message of any contact.
    const empty = seen.size === 0;
    const emptied = empty && isAccountSuspect(suspectAt, state.now) && deletionsConfirmedAt < suspectAt;
    // Redis stores `missingSince` of a message in whole seconds, rounded up. Times that are compared with it are
    // rounded in the same way.
    const confirmedAt = Math.ceil(deletionsConfirmedAt / 1_000) * 1_000;
    const lastShownAt = Math.max(messagesShownAt, confirmedAt);
    const suspectSince = unconfirmedSuspectSince(state.pollState.suspectSince, deletionsConfirmedAt);
    return classifyMissingMessages({
      contactId,
      known,
      seen,
      startedAt,
      now: state.now,
      revisionFloor,
      minApartMs: this.settings.absenceMs,
      deletionsConfirmedAt: confirmedAt,
      isOutageLikely: isListSuspect || emptied,
      ...(suspectSince === undefined ? {} : { suspectSince }),
      mayBeUnreadable: reading.skipped > (state.pollState.skipped ?? 0),
      ...(empty && state.contacts > 1 ? { lastShownAt } : {}),
    });
  }

  private async deletions(
    account: string,
    contactId: string,
    deleted: AbsenceResult['deleted'],
  ): Promise<NewEvent[]> {
    if (deleted.length === 0) return [];
    const ids = deleted.map(({ id }) => id);
    const sends = await this.binder.sendsOf(account, contactId, ids);
    const events: NewEvent[] = [];
    for (const gone of deleted) {
      const last = await this.recordedMessages.lastRecordedForm(
        account,
        eventSubjectOfMessage(contactId, gone.id),
        gone.revisionBefore,
      );
      events.push(createMessageDeletionEvent(contactId, gone, last, sends.get(gone.id)));
    }
    return events;
  }

  private firstRead({ state, resync }: PollStart, reading: PagesRead): FirstRead | undefined {
    if (resync !== undefined) {
      const emitAfter =
        resync === MESSAGES_REPLACED_REASON ? lastReadAtByUpstream(state, reading) : undefined;
      // A new baseline usually emits no events for messages, because the same events may have been emitted before. If
      // `emitAfter` is set, events are emitted for messages whose timestamp is later than `emitAfter`.
      return emitAfter === undefined ? 'silent' : { emitAfter, undated: 'silent', areSendsDated: true };
    }
    if (state.emitAfter === undefined) return undefined;
    const undated = state.extension.resyncing === true ? 'silent' : this.settings.undated;
    return { emitAfter: state.emitAfter, undated };
  }
}

/**
 * Returns how the commit changes the baseline of the contact. `{ emitAfter }`: starts a new baseline, which contains
 * the messages up to this time. `over`: completes the baseline, because all pages were read. `unchanged`: neither.
 */
function baselineAfter({ state, resync }: PollStart, reading: PagesRead): PollCommit['baseline'] {
  const { fullRead, date, firstDate = date } = reading;
  if (resync === MESSAGES_REPLACED_REASON) {
    const emitAfter = lastReadAtByUpstream(state, reading);
    if (emitAfter !== undefined) return { emitAfter };
  }
  // Upstream rounds the time in its `Date` header down to a second, so the actual time may be almost a second
  // later. The baseline includes messages up to the actual time.
  if (resync !== undefined) return { emitAfter: (firstDate ?? state.now) + 1_000 };
  return fullRead === undefined ? 'unchanged' : 'over';
}

/**
 * Tolerance for comparing the result of {@link lastReadAtByUpstream} with timestamps of messages, in milliseconds.
 * Upstream may round the timestamps and the time in its `Date` header down to a second.
 */
const TIMESTAMP_TOLERANCE_MS = 1_000;

/**
 * Returns the time of the last read of the newest messages, less a tolerance, in milliseconds since 1970 by
 * upstream's clock; undefined if there was no such read. If upstream returns none of the known messages, for
 * example because a conversation was deleted, only messages with a timestamp after the returned time count as new.
 */
function lastReadAtByUpstream(
  { extension: { readAt } }: PollStart['state'],
  { upstreamAheadMs }: PagesRead,
): number | undefined {
  return readAt === undefined ? undefined : readAt + upstreamAheadMs - TIMESTAMP_TOLERANCE_MS;
}

/**
 * Returns since when missing messages of the contact have made an outage likely, in milliseconds since 1970.
 * Returns `over` if an outage is no longer likely, and undefined if an outage was likely neither before nor after
 * the read.
 */
function suspicionIn(
  { suspectSince }: PollState,
  before: PollState,
  deletesSnapshots: boolean,
): PollCommit['suspicion'] {
  return suspectSince ?? (before.suspectSince !== undefined || deletesSnapshots ? 'over' : undefined);
}

/** Assumed maximum number of changes of one message between two losses of the contact's snapshot. */
const MAX_REVISIONS_BETWEEN_LOSSES = 1_000;

/**
 * Returns a number above all revisions that the contact's messages had before a loss of stored state. Later
 * changes get revisions above this number. Otherwise, two events of a message could have the same id, and the
 * event log would drop the second one.
 *
 * The Unix time in seconds is high enough, because a message has less than one event per second on average.
 * If losses follow each other closely, the result is {@link MAX_REVISIONS_BETWEEN_LOSSES} above the
 * result after the previous loss.
 */
function floorAfterLoss({ now, pollState }: ContactState): number {
  return Math.max(Math.floor(now / 1_000), (pollState.revisionFloor ?? 0) + MAX_REVISIONS_BETWEEN_LOSSES);
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

function resyncEvent(contactId: string, { version }: ContactState, reason: string): NewEvent {
  return {
    type: 'contact.resynced',
    contactId,
    subject: `resync:${contactId}`,
    revision: version + 1,
    data: { contactId, reason },
  };
}

function suspicionOf(
  contactId: string,
  { now, suspectAt }: ContactState,
  count: number,
): NewEvent | undefined {
  const reason = 'upstream shows far fewer messages of a contact than before';
  return createAccountSuspectEvent(now, suspectAt, { reason, count, contactId });
}
