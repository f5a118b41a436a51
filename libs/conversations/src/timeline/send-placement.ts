import type { Position } from '../position.js';
import type { CommittedMessageState, TimelineMessage, TimelineSend } from './ports.js';

/**
 * Assumed maximum time from the binding of a message to its send until the commit of the snapshot that contains the
 * message, in milliseconds.
 */
const BINDING_TO_COMMIT_MS = 60_000;

/** How one send appears in a timeline. */
export type SendPlacement =
  /** The send is shown, at its own position. */
  | { kind: 'send'; position: Position }
  /** The message of the send is shown instead of the send, at the position of the send. */
  | { kind: 'messageAtSend'; position: Position; message: TimelineMessage }
  /** The send is not shown. Its message, if it exists and is not deleted, is shown at the message's own position. */
  | { kind: 'none' };

/** What decides how sends appear in a timeline. */
export interface PlacementContext {
  /** When the caller requested the first page of the timeline, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  contactId: string | undefined;
  phoneNumbers: ReadonlySet<string>;
  /**
   * Returns what the contact's snapshot says about a send's message; undefined if the snapshot does not contain it
   * yet.
   */
  committed: (message: { contactId: string; messageId: string }) => CommittedMessageState | undefined;
  /** Committed messages of the contact that were read for this page and are not deleted, by id. */
  messages: ReadonlyMap<string, TimelineMessage>;
}

/**
 * Returns the position of a send in a timeline. The time of the position is `sendAt` if `sendAt` was in the future
 * when the caller requested the first page of the timeline. Otherwise it is the time at which the gateway stored the
 * send.
 */
export function positionOfSend(
  { id, createdAt, sendAt }: Pick<TimelineSend<unknown>, 'id' | 'createdAt' | 'sendAt'>,
  startedAt: number,
): Position & { id: string } {
  return { at: sendAt !== undefined && sendAt > startedAt ? sendAt : createdAt, id };
}

/**
 * Returns true if the message of a send must be shown at the position of the send, because the message may have been
 * committed after the caller requested the first page of the timeline. If the message were shown at its own position,
 * a later page could show the message although an earlier page has already shown the send.
 */
export function isMessageShownAtSendPosition(
  { boundAt, message, phoneNumber, status }: TimelineSend<unknown>,
  { startedAt, phoneNumbers }: Pick<PlacementContext, 'startedAt' | 'phoneNumbers'>,
): boolean {
  return (
    message !== undefined &&
    status !== 'cancelled' &&
    boundAt !== undefined &&
    boundAt > startedAt - BINDING_TO_COMMIT_MS &&
    phoneNumbers.has(phoneNumber)
  );
}

/** Decides how a send appears in a timeline. */
export function timelinePlacementOfSend(
  send: TimelineSend<unknown>,
  context: PlacementContext,
): SendPlacement {
  const { message, status, phoneNumber } = send;
  if (status === 'cancelled' || !context.phoneNumbers.has(phoneNumber)) return { kind: 'none' };
  const position = positionOfSend(send, context.startedAt);
  if (message === undefined) return { kind: 'send', position };
  const committed = context.committed(message);
  if (!isMessageShownAtSendPosition(send, context))
    return committed === undefined ? { kind: 'send', position } : { kind: 'none' };
  if (committed === 'deleted') return { kind: 'none' };
  const read = message.contactId === context.contactId ? context.messages.get(message.messageId) : undefined;
  if (committed === undefined || read === undefined) return { kind: 'send', position };
  return { kind: 'messageAtSend', position, message: read };
}
