import type { NewEvent } from '#events';
import {
  type AbsenceResult,
  classifyMissingMessages,
  createMessageDeletionEvent,
  isAccountSuspect,
  unconfirmedSuspectSince,
} from '../diff/absence.js';
import { eventSubjectOfMessage } from '../diff/diff.js';
import type { RecordedMessages, SendBinder } from '../ports.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { FullRead, PagesRead } from '../walk/pages-read.js';
import type { FeedSettings } from './feed-settings.js';
import type { PollStart } from './poll-start.js';

/**
 * Decides which of the messages that are missing from a read of all pages count as deleted, and creates their
 * deletion events.
 */
export class MissingMessages {
  constructor(
    private readonly binder: SendBinder,
    private readonly recordedMessages: RecordedMessages,
    private readonly settings: Pick<FeedSettings, 'absenceMs'>,
  ) {}

  /**
   * Finds out which of the known messages are missing from a read of all pages, and which of them count as deleted.
   * @param all snapshots of all known messages of the contact, by message id
   * @param revisionFloor each new change of a message gets a revision above this number
   */
  find(
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
    // If a contact has only a few messages, their absence alone does not indicate an outage. But if upstream shows no
    // message of the contact, an outage is likely if the account is already suspect, or if upstream shows no message
    // of any other contact either.
    const empty = seen.size === 0;
    const emptied = empty && isAccountSuspect(suspectAt, state.now) && deletionsConfirmedAt < suspectAt;
    // Redis stores `missingSince` of a message in whole seconds, rounded up. `deletionsConfirmedAt` is compared with
    // it, and is therefore rounded in the same way.
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

  /** Returns the events of deleted messages. */
  async deletionEvents(
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
}
