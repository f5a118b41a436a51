import type { ContactState } from '../snapshot/contact-state.js';
import type { LookupReads } from '../ports.js';

/**
 * Reason for a new baseline: all messages that upstream returns for a contact are unknown, although many messages
 * of the contact are known.
 */
export const MESSAGES_REPLACED_REASON = 'upstream shows other messages than before';

/** Reason for a new baseline: a stored snapshot of a message cannot be read. */
export const DAMAGED_SNAPSHOT_REASON = "the stored snapshots of the contact's messages are damaged";

/**
 * Returns the reason for a new baseline if the state of the contact, all its snapshots, or the event log was lost;
 * undefined if none of them was lost.
 */
export function lossReasonOf({ lost, pollState, storedMessages, epoch }: ContactState): string | undefined {
  if (lost) return 'the stored state of the contact was lost';
  if (pollState.count > 0 && storedMessages === 0)
    return "the stored snapshots of the contact's messages were lost";
  if (pollState.epoch !== undefined && pollState.epoch !== epoch) return 'the event log was lost';
  return undefined;
}

/** A contact and its stored state at the start of a read. The commit of the read is based on this state. */
export interface PollStart {
  account: string;
  contactId: string;
  state: ContactState;
  /**
   * Why the commit starts a new baseline, for example because stored state was lost. Absent if the commit
   * starts no new baseline.
   */
  resync?: string;
  /**
   * Part of the account's budget that is left for polls, in upstream requests per second, as determined when a
   * worker claimed the contact. Absent if no worker claimed it.
   */
  requestsPerSecond?: number;
  /**
   * Receives the messages that are read. Present only during a look-up, which searches for the messages of sends.
   */
  lookup?: LookupReads;
}

/**
 * What a commit contains. `head`: a read of the newest messages, and the due time of the next read of the
 * newest messages. `page`: one page of a read of older messages. `end`: the end of a read of older messages.
 */
export type CommitKind = 'head' | 'page' | 'end';
