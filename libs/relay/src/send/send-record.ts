import type { NewSend, Send, SendAttempt, SendStatus } from './send.js';

/** What of a send never changes. Times are milliseconds since 1970. */
export interface SendOrder extends NewSend {
  id: string;
  createdAt: number;
  /** The stamp of its account's upstream address when it was accepted; older builds wrote none. */
  upstream?: string;
  /** Of the caller's request: logs of its attempts name it, and nobody else sees it. */
  requestId?: string;
}

/**
 * Where a send stands.
 *
 * While `relaying`, `posting` says that a POST may be under way until the lease is over, and `looking` that the POST
 * ended without a clear answer, or may have been forgotten, and the contact's messages are searched for it.
 */
export interface SendState {
  status: SendStatus;
  phase?: 'posting' | 'looking';
  /** Rises by one with every transition: the fence, and the revision of its events. */
  revision: number;
  updatedAt: number;
  /**
   * Names the transition that led here; absent before the first. Revisions alone coincide once Redis lost its last
   * steps and others were taken in their place.
   */
  step?: string;
  attempts: SendAttempt[];
  /** Attempts that upstream surely did not take, in a row. */
  refusals: number;
  /** POSTs that upstream took or may have taken, the one under way included. Absent: none. */
  copies?: number;
  /** By Redis' clock: not posted again before, or when posting: not taken for dead before. */
  notBefore?: number;
  /** When the last POST began, by Redis' clock. */
  begunAt?: number;
  /** When the first POST began of which no message is known, if another one followed it. */
  firstBegunAt?: number;
  /** When it was told to go out again, and whether it is to be looked for before that. */
  resentAt?: number;
  /** The stamp of the address that it was then told to go out to. */
  resentTo?: string;
  lookFirst?: true;
  /**
   * How much longer it is looked for, or expected when accepted, and when the last look ended; that is absent after a
   * look that failed. Both are absent before the first look for an accepted one.
   */
  lookLeftMs?: number;
  lookedAt?: number;
  looks?: number;
  /** Since when it is looked for, by Redis' clock. */
  lookSince?: number;
  /** It is only looked for because its POST may have been forgotten: not found, it goes out. */
  thenPost?: boolean;
  /** It is not kept any longer, whatever becomes of it. */
  forgotten?: true;
  contactId?: string;
  messageId?: string;
  /** Further messages that it is, of POSTs that were asked for although an earlier one may have been taken. */
  duplicates?: readonly BoundMessage[];
  reason?: string;
}

/** A message of a contact. */
export interface BoundMessage {
  contactId: string;
  messageId: string;
}

/** What of a state a step may set; the status follows from what happened, and the store sets the rest. */
export type SendProgress = Omit<SendState, 'status' | 'copies' | 'revision' | 'updatedAt'>;

/** A send as it is stored. */
export interface SendRecord {
  order: SendOrder;
  state: SendState;
}

/** The most attempts that are kept; the first ones give way. */
const MAX_ATTEMPTS = 50;

/** The attempts with one more. */
export function withAttempt(attempts: readonly SendAttempt[], attempt: SendAttempt): SendAttempt[] {
  return [...attempts, attempt].slice(-MAX_ATTEMPTS);
}

/** What of a state is kept for good, without what only matters on the way. */
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

/** Whether a message that was not seen yet may be this send. */
export function isAwaitingMessage(state: SendState): boolean {
  return state.status === 'relaying' || (state.copies ?? 0) > boundMessages(state).length;
}

/** Whether its message has no longer to be expected: one that shows up now is rather that of another send. */
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

/** Whether its end is not known although it is not relayed any more: retention lets go of it last. */
export function isUndecided({ status, forgotten }: SendState): boolean {
  return (status === 'accepted' || status === 'unknown') && forgotten !== true;
}

/** The messages that it is known to be. */
export function boundMessages({ contactId, messageId, duplicates = [] }: SendState): BoundMessage[] {
  const first = contactId === undefined || messageId === undefined ? [] : [{ contactId, messageId }];
  return [...first, ...duplicates];
}

/** The send as callers and events see it. */
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
