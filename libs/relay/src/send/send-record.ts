import type { TraceContext } from '#platform';
import { appendLookup, type StoredLookup, toPublicLookup } from './stored-lookup.js';
import type { NewSend, Send, SendAttempt, SendStatus } from './send.js';

/** The part of a send that never changes after the send is stored. Times are in milliseconds since 1970. */
export interface SendOrder extends NewSend {
  id: string;
  createdAt: number;
  /**
   * By how much upstream's clock was ahead of Redis' clock when the send was stored, in milliseconds. Absent if this
   * was not known, or if an earlier build stored the send.
   */
  upstreamAheadMs?: number;
  /**
   * Hash of the account's upstream address when the send was stored; absent if the account had no address, or if an
   * older version of the software stored the send.
   */
  upstream?: string;
  /** Id of the caller's HTTP request. Used only in the log lines of the send's attempts. */
  requestId?: string;
  /**
   * The trace of the caller's HTTP request, if requests are traced. The steps and events of the send continue this
   * trace.
   */
  trace?: TraceContext;
}

/**
 * The part of a send that changes. Times are in milliseconds since 1970, by Redis' clock.
 *
 * A send with the status `relaying` has a phase. `posting`: a process may be posting the send, until the lease of the
 * POST expires. `looking`: the send is looked up among the recipient's messages, because its POST had no clear
 * outcome, Redis may have lost the record of a POST, or a resend was requested.
 */
export interface SendState {
  status: SendStatus;
  phase?: 'posting' | 'looking';
  /**
   * Increases by one with every transition. A change is stored only if it was based on the current revision. The
   * event of a transition has the same revision.
   */
  revision: number;
  updatedAt: number;
  /**
   * When the send got its status. Absent if the last transition changed the status: {@link updatedAt} is this time
   * then.
   */
  statusSince?: number;
  /**
   * Random id of the last transition. Absent before the first transition and after the transition `promoted`. The
   * revision alone is not unique: if Redis loses its last writes, other transitions get the same revisions again.
   */
  step?: string;
  attempts: SendAttempt[];
  /**
   * Number of consecutive attempts that upstream certainly did not accept. Attempts that failed because of an outage
   * are not counted.
   */
  refusals: number;
  /**
   * Number of POSTs that upstream accepted or may have accepted, including a POST in progress. Absent or 0 if there
   * was no such POST. At least 1 if the send left its lane with the status `unknown`, and Redis may have lost the
   * record of a POST.
   */
  copies?: number;
  /** Earliest time of the next POST or look-up. During a POST or a look-up: the end of its lease. */
  notBefore?: number;
  /** Start of the last POST. */
  begunAt?: number;
  /**
   * By how much upstream's clock was ahead of Redis' clock at {@link begunAt}, in milliseconds. Absent if this was
   * not known. Earlier builds drop this field when they change the send.
   */
  begunUpstreamAheadMs?: number;
  /** Used only if the send was posted more than once: start of the earliest POST that has no bound message yet. */
  firstBegunAt?: number;
  /** Time of the last resend that an operator requested. */
  resentAt?: number;
  /** Hash of the account's upstream address when the last resend was requested. */
  resentTo?: string;
  /** True if the send must be looked up before its next POST, because a resend was requested. */
  lookFirst?: true;
  /**
   * Remaining time for look-ups of the send, in milliseconds. Present in the phase `looking`, and in an accepted send
   * after its first look-up.
   */
  lookLeftMs?: number;
  /**
   * When the last look-up was made. Before the first look-up in the phase `looking`: when the phase started. Absent
   * if the last look-up failed or was suspended during an outage. In an accepted send, also absent before the first
   * look-up.
   */
  lookedAt?: number;
  /**
   * Number of consecutive look-ups with the same result: the recipient's messages were read ({@link lookedAt} is
   * present) or could not be read ({@link lookedAt} is absent). The number selects the wait before the next look-up.
   */
  looks?: number;
  /** When the look-ups of the send started. */
  lookSince?: number;
  /** True if the look-ups precede a POST: they only make sure that the send was not posted already. */
  thenPost?: boolean;
  /**
   * True if Redis restarted before or during the look-ups, and may have lost the record of a POST. Present only in
   * the phase `looking`. See the function {@link mayHaveLostPost} for records without this field.
   */
  mayHaveLostPost?: boolean;
  /** True if retention may remove the send although its outcome is not certain. */
  forgotten?: true;
  contactId?: string;
  messageId?: string;
  /** When {@link messageId} was set. Absent if an older version of the software set {@link messageId}. */
  boundAt?: number;
  /**
   * Further messages of this send. They exist if the send was posted again although upstream had accepted an earlier
   * POST.
   */
  duplicates?: readonly BoundMessage[];
  /**
   * Why the send failed, expired, has the status `unknown` or is being looked up, or why retention removes it, as
   * text.
   */
  reason?: string;
  /**
   * The first look-up of the send and the latest ones, in order of time. Absent if there was no look-up. Earlier
   * builds drop the list when they change the send.
   */
  lookups?: readonly StoredLookup[];
}

/** Identifies a message. The contact's id is needed, because message ids may be unique only within a contact. */
export interface BoundMessage {
  contactId: string;
  messageId: string;
}

/** The fields of a send's state that a change may set. The store calculates the other fields. */
export type SendProgress = Omit<SendState, 'status' | 'copies' | 'revision' | 'updatedAt' | 'statusSince'>;

/** A send as stored: the part that never changes, and the state. */
export interface SendRecord {
  order: SendOrder;
  state: SendState;
}

/** Maximum number of attempts that are stored with a send. If there are more, the oldest are dropped. */
export const MAX_STORED_ATTEMPTS_PER_SEND = 50;

/** Adds an attempt to a list of attempts. Drops the oldest attempts in excess of the maximum number. */
export function appendAttempt(attempts: readonly SendAttempt[], attempt: SendAttempt): SendAttempt[] {
  return [...attempts, attempt].slice(-MAX_STORED_ATTEMPTS_PER_SEND);
}

/**
 * Returns the fields that a send keeps at every transition: the attempts, the number of refusals, the data of POSTs
 * and of the last resend, the bound messages, and the look-ups.
 */
export function fieldsKeptAcrossTransitions(state: SendState): SendProgress {
  const { attempts, refusals, begunAt, begunUpstreamAheadMs, firstBegunAt, resentAt, resentTo } = state;
  const { contactId, messageId, boundAt, duplicates, lookups } = state;
  return {
    attempts,
    refusals,
    ...(begunAt === undefined ? {} : { begunAt }),
    ...(begunUpstreamAheadMs === undefined ? {} : { begunUpstreamAheadMs }),
    ...(firstBegunAt === undefined ? {} : { firstBegunAt }),
    ...(resentAt === undefined ? {} : { resentAt }),
    ...(resentTo === undefined ? {} : { resentTo }),
    ...(contactId === undefined ? {} : { contactId }),
    ...(messageId === undefined ? {} : { messageId }),
    ...(boundAt === undefined ? {} : { boundAt }),
    ...(duplicates === undefined ? {} : { duplicates }),
    ...(lookups === undefined ? {} : { lookups }),
  };
}

/** Returns when the send got its status, in milliseconds since 1970 by Redis' clock. */
export function timeOfStatus({ statusSince, updatedAt }: SendState): number {
  return statusSince ?? updatedAt;
}

/**
 * Maximum time by which the timestamp of a send's message may be earlier than the start of the send's POST, in
 * milliseconds. The difference between upstream's clock and Redis' clock is known only to within a second or two.
 */
export const UPSTREAM_CLOCK_TOLERANCE_MS = 10_000;

/**
 * Returns the start of the first POST whose message is not bound yet. For a send without a recorded POST, returns the
 * earliest possible time of a POST: its `sendAt`, or the time at which it was created. Times are in milliseconds
 * since 1970 by Redis' clock.
 */
export function earliestPostTimeWithoutBoundMessage({ order, state }: SendRecord): number {
  return state.firstBegunAt ?? state.begunAt ?? order.sendAt ?? order.createdAt;
}

/**
 * Returns the lowest and the highest of the known clock differences of a send, in milliseconds (positive if
 * upstream's clock is ahead of Redis' clock): when the send was stored, at its latest POST, and now. The lowest and
 * the highest are not equal if, for example, Redis' clock was set, or Redis failed over to a machine with another
 * clock. A difference that was not stored with the send is left out. Each time of the send is by Redis' clock as it
 * was at that moment.
 * @param upstreamAheadMs the present difference
 */
export function clockDifferenceRange(
  { order, state }: SendRecord,
  upstreamAheadMs: number,
): { minMs: number; maxMs: number } {
  const { upstreamAheadMs: atCreation = upstreamAheadMs } = order;
  const { begunUpstreamAheadMs: atPost = upstreamAheadMs } = state;
  return {
    minMs: Math.min(atCreation, atPost, upstreamAheadMs),
    maxMs: Math.max(atCreation, atPost, upstreamAheadMs),
  };
}

/**
 * Returns the earliest possible time of the first POST whose message is not bound yet, in milliseconds since 1970 by
 * upstream's clock. See {@link earliestPostTimeWithoutBoundMessage}. Uses the lowest of the known clock differences
 * ({@link clockDifferenceRange}): if Redis' clock was set back since the POST, the present difference is too high,
 * and the send's own message would seem to be older than the POST.
 * @param upstreamAheadMs time by which upstream's clock is now ahead of Redis' clock, in milliseconds
 */
export function upstreamTimeOfFirstPostWithoutBoundMessage(
  record: SendRecord,
  upstreamAheadMs: number,
): number {
  return earliestPostTimeWithoutBoundMessage(record) + clockDifferenceRange(record, upstreamAheadMs).minMs;
}

/**
 * Redis' clock counts as set back only if it went back by more than this, in milliseconds. After a failover, the
 * clock of the new master may be a little behind that of the old one, even if both are synchronized.
 */
export const REDIS_CLOCK_TOLERANCE_MS = 10_000;

/**
 * Maximum setback of Redis' clock that the matching of messages with sends takes into account, in milliseconds. If
 * the clock is set back further and Redis loses the record of a POST, the message of the POST may not be matched with
 * its send.
 */
export const MAX_REDIS_CLOCK_STEP_MS = 86_400_000;

/** Returns the send's record with a look-up added to its list of look-ups. */
export function appendLookupToSend(record: SendRecord, lookup: Omit<StoredLookup, 'since'>): SendRecord {
  const since = earliestPostTimeWithoutBoundMessage(record) - UPSTREAM_CLOCK_TOLERANCE_MS;
  const lookups = appendLookup(record.state.lookups ?? [], { ...lookup, since });
  return { ...record, state: { ...record.state, lookups } };
}

/** True if upstream may still show a new message that belongs to this send. */
export function isAwaitingMessage(state: SendState): boolean {
  return state.status === 'relaying' || hasPostWithoutMessage(state);
}

/**
 * True if Redis may have lost the record of a POST of this send; always false outside of the phase `looking`. Also
 * true if an earlier build began the look-ups that precede a POST, because it did not record whether Redis had
 * restarted.
 */
export function mayHaveLostPost({ mayHaveLostPost: isRecorded, thenPost }: SendState): boolean {
  return isRecorded ?? thenPost === true;
}

/** True if upstream accepted or may have accepted a POST of this send whose message is not bound yet. */
export function hasPostWithoutMessage(state: SendState): boolean {
  return (state.copies ?? 0) > boundMessagesOf(state).length;
}

/**
 * True if the send's message should have appeared by now. A new message then more likely belongs to another send.
 * While a send waits for its resend, the message of its earlier POST counts as overdue.
 */
export function isMessageOfSendOverdue({ status, lookLeftMs, copies = 0, thenPost }: SendState): boolean {
  switch (status) {
    case 'accepted':
      return lookLeftMs !== undefined && lookLeftMs <= 0;
    case 'scheduled':
      return false;
    case 'queued':
      return copies > 0;
    case 'relaying':
      return copies > 0 && thenPost === true;
    case 'sent':
    case 'delivered':
    case 'read':
    case 'unknown':
    case 'failed':
    case 'cancelled':
    case 'expired':
      return true;
  }
}

/**
 * True if the send has left its recipient's queue, but its outcome is not certain. Retention removes such sends last.
 * False if retention has already decided to remove the send.
 */
export function hasLeftLaneWithUncertainOutcome({ status, forgotten }: SendState): boolean {
  return (status === 'accepted' || status === 'unknown') && forgotten !== true;
}

/** Returns the messages that are known to belong to this send. */
export function boundMessagesOf({ contactId, messageId, duplicates = [] }: SendState): BoundMessage[] {
  const first = contactId === undefined || messageId === undefined ? [] : [{ contactId, messageId }];
  return [...first, ...duplicates];
}

/** Returns the send with its look-ups, in the form that API replies contain. */
export function toPublicSendWithLookups(record: SendRecord): Send {
  return { ...toPublicSend(record), lookups: (record.state.lookups ?? []).map(toPublicLookup) };
}

/** Returns the send without its look-ups, in the form that events and timelines contain. */
export function toPublicSend({ order, state }: SendRecord): Send {
  const { file } = order;
  return {
    id: order.id,
    status: state.status,
    phoneNumber: order.phoneNumber,
    type: order.type,
    message: order.message ?? null,
    fileUrl: order.fileUrl ?? null,
    file:
      file === undefined
        ? null
        : { name: file.name, contentType: file.contentType, size: file.size, sha256: file.sha256 },
    reference: order.reference ?? null,
    metadata: order.metadata ?? null,
    extraFields: order.extraFields ?? {},
    createdAt: iso(order.createdAt),
    updatedAt: iso(state.updatedAt),
    sendAt: order.sendAt === undefined ? null : iso(order.sendAt),
    expiresAt: order.expiresAt === undefined ? null : iso(order.expiresAt),
    attempts: state.attempts,
    contactId: state.contactId ?? null,
    messageId: state.messageId ?? null,
    reason: state.reason ?? null,
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
