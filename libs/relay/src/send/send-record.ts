import type { NewSend, Send, SendAttempt, SendStatus } from './send.js';

/** The part of a send that never changes. Times are in milliseconds since 1970. */
export interface SendOrder extends NewSend {
  id: string;
  createdAt: number;
  /** Stamp of the account's upstream address at acceptance; absent in sends of older builds. */
  upstream?: string;
  /** Id of the caller's HTTP request. Only log lines of the attempts contain it. */
  requestId?: string;
}

/**
 * The part of a send that changes. Times are in milliseconds since 1970, by Redis' clock.
 *
 * A `relaying` send has a phase. `posting`: a POST may be under way until the lease expires. `looking`: the POST ended
 * without a clear answer, or Redis may have lost its record, and the recipient's messages are searched for it.
 */
export interface SendState {
  status: SendStatus;
  phase?: 'posting' | 'looking';
  /** Increases by one with every transition. It fences writers, and is the revision of the send's events. */
  revision: number;
  updatedAt: number;
  /**
   * Random id of the last transition; absent before the first. The revision alone is not unique: after Redis lost its
   * last writes, other transitions reach the same revision.
   */
  step?: string;
  attempts: SendAttempt[];
  /** Number of consecutive attempts that upstream did not accept. */
  refusals: number;
  /** Number of POSTs that upstream accepted or may have accepted, including the one under way. Absent: none. */
  copies?: number;
  /** Earliest time of the next POST or search step. During a POST: the end of its lease. */
  notBefore?: number;
  /** Start of the last POST. */
  begunAt?: number;
  /** Start of the first POST whose message is not known. Absent if that is the last POST. */
  firstBegunAt?: number;
  /** Time of the last requested resend. `lookFirst`: the resend starts with a search. */
  resentAt?: number;
  /** Stamp of the upstream address at the time of that resend. */
  resentTo?: string;
  lookFirst?: true;
  /**
   * `lookLeftMs`: remaining time of the search, or of the wait for the message of an accepted send, in milliseconds.
   * `lookedAt`: end of the last search step; absent after a failed step. Both are absent before the first step of an
   * accepted send. `looks`: number of consecutive steps with the same result.
   */
  lookLeftMs?: number;
  lookedAt?: number;
  looks?: number;
  /** Start of the search. */
  lookSince?: number;
  /** True if the search only rules out a POST that Redis lost: if no message is found, the send is posted. */
  thenPost?: boolean;
  /** True if retention may remove the send although its end is not known. */
  forgotten?: true;
  contactId?: string;
  messageId?: string;
  /**
   * Further messages of this send, from resends that were requested although an earlier POST may have been accepted.
   */
  duplicates?: readonly BoundMessage[];
  reason?: string;
}

/** A message of a contact. */
export interface BoundMessage {
  contactId: string;
  messageId: string;
}

/** The fields of the state that a change may set. The store derives the others. */
export type SendProgress = Omit<SendState, 'status' | 'copies' | 'revision' | 'updatedAt'>;

/** A stored send. */
export interface SendRecord {
  order: SendOrder;
  state: SendState;
}

/** Maximum number of attempts in a record. The oldest are dropped. */
const MAX_ATTEMPTS = 50;

/** Returns the attempts with one more attempt, within the maximum number. */
export function withAttempt(attempts: readonly SendAttempt[], attempt: SendAttempt): SendAttempt[] {
  return [...attempts, attempt].slice(-MAX_ATTEMPTS);
}

/** Returns the fields that outlive a phase: attempts, times of POSTs and resends, and known messages. */
export function lastingFields(state: SendState): SendProgress {
  const { attempts, refusals, begunAt, firstBegunAt, resentAt, resentTo } = state;
  const { contactId, messageId, duplicates } = state;
  return {
    attempts,
    refusals,
    ...(begunAt === undefined ? {} : { begunAt }),
    ...(firstBegunAt === undefined ? {} : { firstBegunAt }),
    ...(resentAt === undefined ? {} : { resentAt }),
    ...(resentTo === undefined ? {} : { resentTo }),
    ...(contactId === undefined ? {} : { contactId }),
    ...(messageId === undefined ? {} : { messageId }),
    ...(duplicates === undefined ? {} : { duplicates }),
  };
}

/** True if a message that was not seen yet may be this send. */
export function isAwaitingMessage(state: SendState): boolean {
  return state.status === 'relaying' || (state.copies ?? 0) > matchedMessages(state).length;
}

/** True if the time for the send's message is over. A new message then more likely belongs to another send. */
export function isOverdue({ status, lookLeftMs }: SendState): boolean {
  switch (status) {
    case 'accepted':
      return lookLeftMs !== undefined && lookLeftMs <= 0;
    case 'scheduled':
    case 'queued':
    case 'relaying':
      return false;
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

/** True if the send left its lane without a certain end. Retention removes such sends last. */
export function isUndecided({ status, forgotten }: SendState): boolean {
  return (status === 'accepted' || status === 'unknown') && forgotten !== true;
}

/** Returns the messages that are known to be this send. */
export function matchedMessages({ contactId, messageId, duplicates = [] }: SendState): BoundMessage[] {
  const first = contactId === undefined || messageId === undefined ? [] : [{ contactId, messageId }];
  return [...first, ...duplicates];
}

/** Returns the send as callers and events see it. */
export function toSend({ order, state }: SendRecord): Send {
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
