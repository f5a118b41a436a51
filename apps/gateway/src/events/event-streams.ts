import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { type Cursor, type EventLog, type EventPage, parseCursor } from '#events';
import type { EventSelection } from '../auth/contact-access.js';
import { Problem, retryAfter } from '../problems/problem.js';
import { EVENT_LOG, EVENT_WAITS, SHUTDOWN } from '../tokens.js';
import type { Principal } from '#accounts';
import { EventStream } from './event-stream.js';
import { LiveChanges, LiveQueue } from './live-changes.js';
import type { LiveType } from './live-types.js';
import { SharedLogs } from './shared-log.js';
import { SseConnection } from './sse-connection.js';
import type { WaitSettings } from './wait-settings.js';
import { WaitingSlots } from './waiting-slots.js';

/** Maximum number of events in memory for one client. */
const PAGE_SIZE = 100;

/** Value of `Retry-After` while all waiting slots are taken, in milliseconds. */
const SLOT_RETRY_MS = 5_000;

/** A caller's request for an event stream. */
export interface StreamRequest {
  caller: Principal;
  /** Changes that are not stored and that the stream sends too. */
  liveTypes: ReadonlySet<LiveType>;
  /** Cursor as text. `now` or undefined means only events from now on. */
  after: string | undefined;
  selection: EventSelection;
  /** Resolves to true if the caller's API key or token is still valid for this stream. It is called regularly. */
  allowed: () => Promise<boolean>;
  /** Aborts when the caller's token ends. */
  ended: AbortSignal;
}

/** The HTTP response of a stream. */
export interface StreamReply {
  raw: ServerResponse;
  /** Takes the response over from the framework and sets the common response headers. */
  takeOver: () => void;
  /** True for a HEAD request, which gets no body. */
  headOnly: boolean;
}

/** Serves event streams. */
@Injectable()
export class EventStreams {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SharedLogs) private readonly logs: SharedLogs,
    @Inject(LiveChanges) private readonly live: LiveChanges,
    @Inject(EVENT_WAITS) private readonly settings: WaitSettings,
    @Inject(WaitingSlots) private readonly slots: WaitingSlots,
    @Inject(SHUTDOWN) private readonly shutdown: AbortSignal,
  ) {
    // Every stream adds a listener, which is no leak: the waiting slots limit the number of streams.
    setMaxListeners(0, shutdown);
  }

  /**
   * Serves a stream and resolves at its end. Errors are thrown only before the response begins.
   * @throws {CursorExpiredError}
   * @throws {Problem} if all waiting slots are taken
   */
  async serve(request: StreamRequest, reply: StreamReply): Promise<void> {
    const slot = this.slots.acquire(request.caller.account);
    if (!slot.acquired) throw noSlot(slot.full);
    try {
      const { start, page } = await this.begin(request);
      const connection = new SseConnection(
        reply.raw,
        this.settings.writeTimeoutMs,
        AbortSignal.any([request.ended, this.shutdown]),
      );
      reply.takeOver();
      connection.open();
      if (!reply.headOnly) await this.run(request, connection, start, page);
      await connection.end();
    } finally {
      slot.release();
    }
  }

  private async run(
    { caller, liveTypes, selection, allowed, ended }: StreamRequest,
    connection: SseConnection,
    start: Cursor,
    page: EventPage,
  ): Promise<void> {
    const log = this.logs.follow(caller.account);
    const { follower } = log;
    const changes =
      liveTypes.size === 0
        ? undefined
        : new LiveQueue(caller, liveTypes, () => {
            follower.wake();
          });
    let leave: (() => void) | undefined;
    try {
      if (changes !== undefined) leave = await this.live.follow(changes);
      const read = async (after: Cursor): Promise<EventPage> =>
        await selection.visible(await log.read(after, PAGE_SIZE, selection.filter));
      const source = { read, follower, allowed, ...(changes === undefined ? {} : { changes }) };
      const stream = new EventStream(source, connection, this.settings, start);
      await stream.run(page, AbortSignal.any([connection.disconnected, ended, this.shutdown]));
    } finally {
      leave?.();
      follower.stop();
    }
  }

  private async begin({
    caller: { account },
    after,
    selection,
  }: StreamRequest): Promise<{ start: Cursor; page: EventPage }> {
    const given = after === undefined ? undefined : parseCursor(after);
    const start = given ?? (await this.log.end(account));
    const page = await this.log.read(account, start, PAGE_SIZE, selection.filter);
    return { start, page: await selection.visible(page) };
  }
}

function noSlot(full: 'gateway' | 'account'): Problem {
  const headers = retryAfter(SLOT_RETRY_MS);
  return full === 'account'
    ? new Problem('rate_limited', 'The account has reached its limit of open event streams and long polls.', {
        headers,
      })
    : new Problem('unavailable', 'The gateway has reached its limit of open event streams and long polls.', {
        headers,
      });
}
