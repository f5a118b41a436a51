import type { UpstreamMessage } from '#upstream';

/** What the first read of a contact tells, and what it takes as there before; `silent`: all of it was there before. */
export type FirstRead = 'silent' | TellAfter;

interface TellAfter {
  /** Messages stamped later are told; milliseconds since 1970 on upstream's clock. */
  tellAfter: number;
  /** What becomes of messages without a readable timestamp. */
  undated: 'silent' | 'emit';
}

/** Whether a message that is met at the first read of its contact is told. One of our own sends always is. */
export function isTold(first: FirstRead, message: UpstreamMessage, isOurs: boolean): boolean {
  if (first === 'silent') return false;
  if (isOurs) return true;
  return message.timestamp === undefined ? first.undated === 'emit' : message.timestamp > first.tellAfter;
}
