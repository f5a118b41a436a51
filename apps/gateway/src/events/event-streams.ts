import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import {
  type Cursor,
  type EventFilter,
  type EventLog,
  type EventPage,
  type EventTail,
  parseCursor,
} from '#events';
import { Problem, retryAfter } from '../problems/problem.js';
import { EVENT_LOG, EVENT_TAIL, EVENT_WAITS, SHUTDOWN } from '../tokens.js';
import { EventStream } from './event-stream.js';
import { SseConnection } from './sse-connection.js';
import type { WaitSettings } from './wait-settings.js';
import { WaitingPlaces } from './waiting-places.js';

/** Events that are held in memory for one client. */
const PAGE = 100;

/** When to try again where all places are taken, in milliseconds. */
const PLACE_RETRY_MS = 5_000;

/** What a caller wants to hear. */
export interface StreamRequest {
  account: string;
  /** A cursor's text; `now` or undefined for what comes from now on. */
  after: string | undefined;
  filter: EventFilter;
  /** Whether the caller may still hear this; asked from time to time. */
  allowed: () => Promise<boolean>;
}

/** What a stream is written to, once it is sure that there will be one. */
export interface StreamReply {
  raw: ServerResponse;
  /** Takes the reply out of the framework's hands, with the headers that every reply has. */
  takeOver: () => void;
  /** Only the head is wanted. */
  headOnly: boolean;
}

/** Streams of events. */
@Injectable()
export class EventStreams {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(EVENT_TAIL) private readonly tail: EventTail,
    @Inject(EVENT_WAITS) private readonly settings: WaitSettings,
    @Inject(WaitingPlaces) private readonly places: WaitingPlaces,
    @Inject(SHUTDOWN) private readonly shutdown: AbortSignal,
  ) {
    // Every client that is being waited for listens to it, and the places bound their number.
    setMaxListeners(0, shutdown);
  }

  /**
   * Serves a stream to its end. What is thrown is thrown before anything was answered.
   * @throws {CursorExpiredError}
   * @throws {Problem} where all places are taken
   */
  async serve(request: StreamRequest, reply: StreamReply): Promise<void> {
    const place = this.places.take(request.account);
    if (!place.granted) throw noPlace(place.full);
    try {
      const { start, page } = await this.begin(request);
      const connection = new SseConnection(reply.raw, this.settings.takeMs, this.shutdown);
      reply.takeOver();
      connection.open();
      if (!reply.headOnly) await this.run(request, connection, start, page);
      await connection.end();
    } finally {
      place.leave();
    }
  }

  private async run(
    { account, filter, allowed }: StreamRequest,
    connection: SseConnection,
    start: Cursor,
    page: EventPage,
  ): Promise<void> {
    const follower = this.tail.follow(account);
    try {
      const read = (after: Cursor): Promise<EventPage> => this.log.read(account, after, PAGE, filter);
      const stream = new EventStream({ read, follower, allowed }, connection, this.settings, start);
      await stream.run(page, AbortSignal.any([connection.gone, this.shutdown]));
    } finally {
      follower.stop();
    }
  }

  private async begin({
    account,
    after,
    filter,
  }: StreamRequest): Promise<{ start: Cursor; page: EventPage }> {
    const given = after === undefined ? undefined : parseCursor(after);
    const start = given ?? (await this.log.end(account));
    return { start, page: await this.log.read(account, start, PAGE, filter) };
  }
}

function noPlace(full: 'gateway' | 'account'): Problem {
  const headers = retryAfter(PLACE_RETRY_MS);
  return full === 'account'
    ? new Problem('rate_limited', 'The account has as many callers waiting for events as it may.', {
        headers,
      })
    : new Problem('unavailable', 'This gateway has as many callers waiting for events as it can.', {
        headers,
      });
}
