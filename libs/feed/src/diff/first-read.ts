import type { UpstreamMessage } from '#upstream';

/**
 * Decides which messages of a contact's first read emit events. With `silent`, no message emits an event, not
 * even a message that belongs to a send. The read that starts a new baseline after a loss of stored state uses
 * `silent`.
 */
export type FirstReadEventRule = 'silent' | EmitAfter;

interface EmitAfter {
  /**
   * Messages emit events if their timestamp is later than this time, in milliseconds since 1970 by upstream's clock.
   */
  emitAfter: number;
  /**
   * Which messages without a readable timestamp emit events at a contact's first read. `emit`: all. `silent`: only
   * messages that belong to sends; if {@link areSendsDated} is true, none.
   */
  undated: 'silent' | 'emit';
  /**
   * If true, messages that belong to sends are treated like all other messages, because their events may have been
   * emitted before. Otherwise, all messages that belong to sends emit events.
   */
  areSendsDated?: boolean;
}

/**
 * Returns true if a message of a contact's first read emits an event. With the rule `silent`, no message does.
 * Otherwise, a message that belongs to a send emits an event, unless `areSendsDated` is true. For all other messages,
 * the timestamp decides; see {@link FirstReadEventRule}.
 * @param isOurs true if the message belongs to a send
 */
export function emitsEventAtFirstRead(
  first: FirstReadEventRule,
  message: UpstreamMessage,
  isOurs: boolean,
): boolean {
  if (first === 'silent') return false;
  if (isOurs && first.areSendsDated !== true) return true;
  return message.timestamp === undefined ? first.undated === 'emit' : message.timestamp > first.emitAfter;
}
