import { Inject, Injectable } from '@nestjs/common';
import {
  type Cursor,
  type EventFilter,
  type EventLog,
  type EventPage,
  type EventTail,
  parseCursor,
} from '#events';
import { EVENT_LOG, EVENT_TAIL, EVENT_WAITS, SHUTDOWN } from '../tokens.js';
import { restAfterEmptyPage } from './empty-stretch.js';
import type { WaitSettings } from './wait-settings.js';
import { WaitingPlaces } from './waiting-places.js';

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
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(EVENT_TAIL) private readonly tail: EventTail,
    @Inject(EVENT_WAITS) private readonly settings: WaitSettings,
    @Inject(WaitingPlaces) private readonly places: WaitingPlaces,
    @Inject(SHUTDOWN) private readonly shutdown: AbortSignal,
  ) {}

  /**
   * The events after the cursor; with a wait, as soon as there are some, or at its end. Where too many wait already the
   * answer is at once what is there.
   * @throws {CursorExpiredError}
   */
  async read(account: string, request: EventRequest): Promise<EventPage> {
    const { filter, limit, waitMs } = request;
    const end = performance.now() + waitMs;
    const page = await this.log.read(account, await this.start(account, request.after), limit, filter);
    if (page.events.length > 0 || waitMs === 0) return page;
    const place = this.places.take(account);
    if (!place.granted) return page;
    try {
      return await this.wait(account, request, page, end);
    } finally {
      place.leave();
    }
  }

  private async wait(
    account: string,
    { filter, limit, gone }: EventRequest,
    empty: EventPage,
    end: number,
  ): Promise<EventPage> {
    const stop = AbortSignal.any([gone, this.shutdown]);
    const follower = this.tail.follow(account);
    let page = empty;
    let readMs = 0;
    try {
      while (page.events.length === 0 && performance.now() < end && !stop.aborted) {
        // A filtered stretch may be empty although more is there: go on soon then.
        const left = end - performance.now();
        if (page.hasMore) await restAfterEmptyPage(readMs, stop, left);
        else await follower.grown(Math.min(this.settings.lookMs, left), stop);
        const began = performance.now();
        page = await this.log.read(account, page.next, limit, filter);
        readMs = performance.now() - began;
      }
      return page;
    } finally {
      follower.stop();
    }
  }

  private async start(account: string, after: string | undefined): Promise<Cursor | undefined> {
    if (after === 'now') return await this.log.end(account);
    return after === undefined ? undefined : parseCursor(after);
  }
}
