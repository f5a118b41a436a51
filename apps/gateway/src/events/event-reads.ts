import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '#accounts';
import {
  type Cursor,
  type EventFilter,
  type EventLog,
  type EventPage,
  type EventLogNotifier,
  parseCursor,
} from '#events';
import { combineAbortSignals } from '#platform';
import { EVENT_LOG, EVENT_LOG_NOTIFIER, EVENT_WAITS, SHUTDOWN } from '../tokens.js';
import { pauseAfterEmptyPage } from './empty-page-pause.js';
import type { WaitSettings } from './wait-settings.js';
import { WaitingSlots } from './waiting-slots.js';

/** A caller's request for a page of events. */
export interface EventRequest {
  /** Cursor as text, or `now`. Undefined means from the oldest kept event. */
  after: string | undefined;
  /** Number of newest events to return instead of the events after a cursor. */
  last: number | undefined;
  filter: EventFilter;
  limit: number;
  /** Maximum time to wait for an event, in milliseconds. */
  waitMs: number;
  /** Aborts when the caller disconnects or its token ends. */
  left: AbortSignal;
}

/** Reads pages of the event log, with long polling. */
@Injectable()
export class EventReads {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(EVENT_LOG_NOTIFIER) private readonly notifier: EventLogNotifier,
    @Inject(EVENT_WAITS) private readonly settings: WaitSettings,
    @Inject(WaitingSlots) private readonly slots: WaitingSlots,
    @Inject(SHUTDOWN) private readonly shutdown: AbortSignal,
  ) {}

  /**
   * Returns the newest events, or the events after the cursor. If there are none after the cursor, it waits up to
   * `waitMs` for the next event. It does not wait if all waiting slots are taken.
   * @throws {CursorExpiredError}
   */
  async read(caller: Pick<Principal, 'account' | 'tokenId'>, request: EventRequest): Promise<EventPage> {
    const { account } = caller;
    const { waitMs, last, filter } = request;
    if (last !== undefined) return await this.log.readLast(account, last, filter);
    const end = performance.now() + waitMs;
    const page = await this.page(account, await this.start(account, request.after), request);
    if (page.events.length > 0 || waitMs === 0) return page;
    const slot = this.slots.acquire(caller);
    if (!slot.acquired) return page;
    try {
      return await this.wait(account, request, page, end);
    } finally {
      slot.release();
    }
  }

  private async wait(
    account: string,
    request: EventRequest,
    empty: EventPage,
    end: number,
  ): Promise<EventPage> {
    const { signal: stop, release } = combineAbortSignals(request.left, this.shutdown);
    const follower = this.notifier.follow(account);
    let page = empty;
    let readMs = 0;
    try {
      while (page.events.length === 0 && performance.now() < end && !stop.aborted) {
        // A page without matching events may have more pages after it, which are read after a short pause.
        const left = end - performance.now();
        if (page.hasMore) await pauseAfterEmptyPage(readMs, stop, left);
        else await follower.waitForGrowth(Math.min(this.settings.recheckMs, left), stop);
        const began = performance.now();
        page = await this.page(account, page.next, request);
        readMs = performance.now() - began;
      }
      return page;
    } finally {
      release();
      follower.stop();
    }
  }

  private async page(
    account: string,
    after: Cursor | undefined,
    { filter, limit }: EventRequest,
  ): Promise<EventPage> {
    return await this.log.read(account, after, limit, filter);
  }

  private async start(account: string, after: string | undefined): Promise<Cursor | undefined> {
    if (after === 'now') return await this.log.end(account);
    return after === undefined ? undefined : parseCursor(after);
  }
}
