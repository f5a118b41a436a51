import { comparePositions } from '../position.js';
import type { RowEntry, RowMessage } from './row-entry.js';

/** Maximum number of unanswered inbound messages that a collector keeps: the first one and the latest ones. */
const MAX_WAITING = 101;

/**
 * Collects from all messages of a contact what the contact's conversation row needs: the last message, the last
 * outbound message, and at most {@link MAX_WAITING} inbound messages after the last outbound message. Messages may be
 * added in any order, but each only once.
 */
export class RowMessageCollector {
  /** The newest of the messages that were added. Undefined if none was added. */
  last: RowMessage | undefined;
  private lastOutbound: RowMessage | undefined;
  private waiting: RowMessage[] = [];

  add(message: RowMessage): void {
    if (this.last === undefined || comparePositions(this.last, message) < 0) this.last = message;
    const { lastOutbound } = this;
    if (message.direction === 'outbound') {
      if (lastOutbound !== undefined && comparePositions(lastOutbound, message) > 0) return;
      this.lastOutbound = message;
      this.waiting = this.waiting.filter((one) => comparePositions(one, message) > 0);
    } else if (message.direction === 'inbound') {
      if (lastOutbound !== undefined && comparePositions(lastOutbound, message) > 0) return;
      this.addWaiting(message);
    }
  }

  /** Returns one change of the conversation row for each collected message. */
  entries(): RowEntry[] {
    const messages = [this.lastOutbound, ...this.waiting, this.last].filter((one) => one !== undefined);
    return [...new Set(messages)].map((message) => ({ kind: 'message', message }));
  }

  private addWaiting(message: RowMessage): void {
    const after = this.waiting.findLastIndex((one) => comparePositions(one, message) < 0);
    this.waiting.splice(after + 1, 0, message);
    if (this.waiting.length > MAX_WAITING) this.waiting.splice(1, 1);
  }
}
