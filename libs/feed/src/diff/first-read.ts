import type { UpstreamMessage } from '#upstream';

/**
 * Rule for the messages of a contact's first read. `silent`: emit none, not even our own sends. The feed uses `silent` for
 * the commit that starts a new baseline after a loss.
 */
export type FirstRead = 'silent' | EmitAfter;

interface EmitAfter {
  /** Messages stamped later are emitted; milliseconds since 1970 on upstream's clock. */
  emitAfter: number;
  /** Treatment of messages without a readable timestamp: `silent` emits none of them, `emit` emits all. */
  undated: 'silent' | 'emit';
}

/**
 * Returns true if the first read of a contact emits this message. A read that is not `silent` emits every message that
 * belongs to one of our sends.
 * @param isOurs true if the message belongs to one of our sends
 */
export function isEmittedAtFirstRead(first: FirstRead, message: UpstreamMessage, isOurs: boolean): boolean {
  if (first === 'silent') return false;
  if (isOurs) return true;
  return message.timestamp === undefined ? first.undated === 'emit' : message.timestamp > first.emitAfter;
}
