import { isRecord } from '#platform';
import type { MessageChange, TimelineEvents } from '#conversations';
import { CursorExpiredError, type EventLog, formatCursor, type LoggedEvent, parseCursor } from '#events';
import { parseMessage } from '#upstream';
import { toTimelineMessage } from './timeline-upstream.js';

const PAGE_SIZE = 500;
/** Maximum number of pages of the event log that one call of `changesSince` reads. */
const MAX_PAGES = 4;
const RESYNCED = 'contact.resynced';

/** Reads the event log for timelines. */
export class LoggedTimelineEvents implements TimelineEvents {
  constructor(private readonly log: Pick<EventLog, 'end' | 'read'>) {}

  async end(account: string): Promise<string> {
    return formatCursor(await this.log.end(account));
  }

  async changesSince(
    account: string,
    contactId: string,
    cursor: string,
  ): Promise<{ changes: readonly MessageChange[]; next: string } | undefined> {
    const changes: MessageChange[] = [];
    let after = parseCursor(cursor);
    if (after === undefined) return undefined;
    const filter = { types: ['message.*', RESYNCED], contactId };
    try {
      for (let pages = 0; pages < MAX_PAGES; pages += 1) {
        const page = await this.log.read(account, after, PAGE_SIZE, filter);
        // Messages of a new baseline are committed without events.
        if (page.events.some(({ type }) => type === RESYNCED)) return undefined;
        changes.push(...page.events.flatMap(changesIn));
        after = page.next;
        if (!page.hasMore) return { changes, next: formatCursor(after) };
      }
    } catch (error) {
      if (!(error instanceof CursorExpiredError)) throw error;
    }
    return undefined;
  }
}

function changesIn({ type, data }: LoggedEvent): MessageChange[] {
  const parsed: unknown = JSON.parse(data);
  const message = parseMessage(isRecord(parsed) ? parsed['message'] : undefined);
  if (message === undefined) return [];
  return [type === 'message.deleted' ? { deletedId: message.id } : { message: toTimelineMessage(message) }];
}
