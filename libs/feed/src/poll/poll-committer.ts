import { type RowUpdate, searchWordsOfContact } from '#conversations';
import type { NewEvent } from '#events';
import { isRecord, type Logger } from '#platform';
import { phoneNumbersOf } from '#upstream';
import { createAccountSuspectEvent } from '../diff/absence.js';
import { arrivalTimesOfNewMessages } from '../delay/poll-report.js';
import { compareMessages } from '../diff/compared-message.js';
import { diffMessages } from '../diff/diff.js';
import type { FeedSettings } from './feed-settings.js';
import type { FeedStore } from '../feed-store.js';
import { type ComparedRead, isHeadReadWithoutChanges, pollCommitOf } from './poll-commit-of-read.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { isPlaceholder } from '../walk/read-in-parts.js';
import { sortOldestFirst } from '../walk/page-order.js';
import type { ReplyTime } from '../walk/page-requests.js';
import { addUnreadableElementHashes } from '../snapshot/poll-state.js';
import { NextReadPlanner } from './next-read-planner.js';
import { eventRuleOfFirstRead, resyncEvent, revisionFloorAfterLoss } from './baseline.js';
import { MissingMessages } from './missing-messages.js';
import type { CommitKind, PollStart } from './poll-start.js';
import { pollStateAfterRead } from './poll-state-after-read.js';
import { ReadBinder } from './read-binder.js';
import { rebuildablePollStateAfterRead } from './rebuildable-poll-state-after-read.js';
import { conversationRowUpdateOf } from './row-update.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';
import type { RecordedMessages, SendBinder } from '../ports.js';
import type { NextDueTime } from './poll-queue.js';
import type { PagesRead } from '../walk/pages-read.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';
import { unpackVolatileMessageFields } from '../form/volatile-message-fields.js';
import { VolatilityLog } from './volatility-log.js';

/**
 * Compares a read of messages with the snapshot, and commits the events, the new snapshots and the next due
 * times.
 */
export class PollCommitter {
  private readonly nextReads: NextReadPlanner;
  private readonly sends: ReadBinder;
  private readonly missing: MissingMessages;
  private readonly volatility: VolatilityLog;

  constructor(
    private readonly store: FeedStore,
    binder: SendBinder,
    recordedMessages: RecordedMessages,
    private readonly settings: FeedSettings,
    private readonly logger: Logger,
    volatile?: VolatileFieldStore,
  ) {
    this.volatility = new VolatilityLog(logger, volatile);
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
    const read = await this.compare(start, reading, known, kind);
    const { observed, changes, absence, next, sends, unreadable } = read;
    const { account, contactId, state, resync } = start;
    if (kind === 'page' && resync === undefined && next.size === 0 && unreadable.added === 0) return true;
    const events = await this.eventsOf(read);
    if (unreadable.added > 0) {
      this.logger.warn(
        { account, contactId, count: unreadable.added },
        'skipped messages that cannot be read; they emit no events',
      );
    }
    const pollState = pollStateAfterRead({
      ...read,
      state,
      deletesSnapshots: resync !== undefined,
      unreadable: unreadable.hashes,
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
    const isQuiet = isHeadReadWithoutChanges(read, events, pollState);
    // A resync ends only with a read of all pages during which no message moved between pages. Any other read may
    // have missed messages. The resync also continues while messages are missing, because the cause may be an
    // outage.
    const endsResync = kind === 'end' && state.extension.resyncing === true && absence?.pending === false;
    const commit = pollCommitOf(read, {
      ...{ events, pollState, isQuiet, arrivals, schedule },
      extension: rebuildablePollStateAfterRead(start, reading, kind, changes.volatile, {
        isQuiet,
        endsResync,
      }),
      deep: this.nextReads.ofOlderMessages(start, reading, pollState, kind),
      row: await this.rowUpdate(read, events, endsResync),
      interval: this.settings.interval,
    });
    const committed = await this.store.commitPoll(account, contactId, commit);
    if (committed === undefined) return false;
    if (sends.size > 0) this.sends.forget(start, observed);
    if (reading.detectsVolatility) await this.volatility.record(account, contactId, changes.volatile);
    return true;
  }

  /** Binds the messages that were read to sends, and compares them with the snapshot. */
  private async compare(
    start: PollStart,
    reading: PagesRead,
    known: ReadonlyMap<string, KnownMessage>,
    kind: CommitKind,
  ): Promise<ComparedRead> {
    const { contactId, state, resync } = start;
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
    const before = state.pollState.unreadable;
    return {
      ...{ start, reading, kind, known, observed, changes, absence, sends, uncommittedSends: uncommitted },
      next: new Map([...changes.known, ...(absence?.known ?? [])]),
      unreadable: addUnreadableElementHashes(before, reading.unreadable),
      skipped: addUnreadableElementHashes(before, reading.unreadable.filter(isPlaceholder)).added,
      revisionFloor,
    };
  }

  private async eventsOf({ start, changes, absence }: ComparedRead): Promise<NewEvent[]> {
    const { account, contactId, state, resync } = start;
    const suspected = absence?.suspected ?? 0;
    const suspectEvent = suspected > 0 ? accountSuspectEventOf(contactId, state, suspected) : undefined;
    return [
      ...(resync === undefined ? [] : [resyncEvent(contactId, state, resync)]),
      ...changes.events,
      ...(await this.missing.deletionEvents(account, contactId, absence?.deleted ?? [])),
      ...(suspectEvent === undefined ? [] : [suspectEvent]),
    ];
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
  ): Promise<NextDueTime | undefined> {
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
  private async rowUpdate(
    { start, reading, known, observed, changes, absence, sends, uncommittedSends }: ComparedRead,
    events: readonly NewEvent[],
    endsResync: boolean,
  ): Promise<RowUpdate> {
    const { account, contactId, state, resync } = start;
    const update = conversationRowUpdateOf({
      hasRow: state.hasRow,
      isResync: resync !== undefined,
      endsResync,
      observed,
      before: known,
      changed: changes.known,
      ...{ events, sends, uncommittedSends },
      deleted: absence?.deleted ?? [],
      fullRead: reading.fullRead,
      clock: { now: state.now, upstreamAheadMs: reading.upstreamAheadMs },
    });
    if (!update.isNew) return update;
    const record = await this.store.contactRecord(account, contactId);
    const fields: unknown = JSON.parse(record?.raw ?? '{}');
    if (!isRecord(fields)) return update;
    const contact = { id: contactId, raw: fields };
    return { ...update, words: searchWordsOfContact(fields), fieldNumbers: phoneNumbersOf(contact) };
  }
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
