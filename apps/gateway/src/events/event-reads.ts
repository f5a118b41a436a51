import { Inject, Injectable } from '@nestjs/common';
import { type Cursor, type EventFilter, type EventLog, type EventPage, parseCursor } from '#events';
import { pause } from '#platform';
import { EVENT_LOG, SHUTDOWN } from '../tokens.js';

const LOOK_AGAIN_MS = 250;

/** More waiting callers than this are answered at once, with what is there. */
const MOST_WAITING = 500;

/** What a caller wants to read. */
export interface EventRequest {
  /** A cursor's text, or `now`. */
  after: string | undefined;
  filter: EventFilter;
  limit: number;
  waitMs: number;
  /** Aborts when nobody waits for the answer any more. */
  gone: AbortSignal;
}

/** Reads of the event log that may wait for something to come. */
@Injectable()
export class EventReads {
  private waiting = 0;

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SHUTDOWN) private readonly shutdown: AbortSignal,
  ) {}

  /**
   * The events after the cursor; with a wait, as soon as there are some, or at its end.
   * @throws {CursorExpiredError}
   */
  async read(account: string, request: EventRequest): Promise<EventPage> {
    const { filter, limit, waitMs } = request;
    const end = performance.now() + waitMs;
    let page = await this.log.read(account, await this.start(account, request.after), limit, filter);
    if (page.events.length > 0 || waitMs === 0 || this.waiting >= MOST_WAITING) return page;

    const stop = AbortSignal.any([request.gone, this.shutdown]);
    this.waiting++;
    try {
      while (page.events.length === 0 && performance.now() < end && !stop.aborted) {
        // A filtered stretch may be empty although more is there: go on at once then.
        if (!page.hasMore) await pause(Math.min(LOOK_AGAIN_MS, end - performance.now()), stop);
        page = await this.log.read(account, page.next, limit, filter);
      }
      return page;
    } finally {
      this.waiting--;
    }
  }

  private async start(account: string, after: string | undefined): Promise<Cursor | undefined> {
    if (after === 'now') return await this.log.end(account);
    return after === undefined ? undefined : parseCursor(after);
  }
}
