import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { type Cursor, type EventFilter, type EventLog, type EventPage, parseCursor } from '#events';
import { combineAbortSignals, withDeadline } from '#platform';
import { noSlotProblem } from '../auth/caller-slots.js';
import { Problem, retryAfter } from '../problems/problem.js';
import { EVENT_LOG, EVENT_WAITS, SHUTDOWN } from '../tokens.js';
import type { Principal } from '#accounts';
import { EventStream } from './event-stream.js';
import { LiveChanges, LiveQueue } from './live-changes.js';
import type { LiveType } from './live-types.js';
import { SharedLogs } from './shared-logs.js';
import { SseConnection } from './sse-connection.js';
import type { WaitSettings } from './wait-settings.js';
import { WaitingSlots } from './waiting-slots.js';

/** Maximum number of events in memory for one client. */
const PAGE_SIZE = 100;

/** Value of `Retry-After` if a stream cannot learn of changes that are not stored, in milliseconds. */
const SUBSCRIBE_RETRY_MS = 5_000;

/** Time after which a stream is refused if it cannot learn of changes that are not stored, in milliseconds. */
const SUBSCRIBE_TIMEOUT_MS = 1_500;

/** A caller's request for an event stream. */
export interface StreamRequest {
  caller: Principal;
  /** Changes that are not stored and that the stream sends too. */
  liveTypes: ReadonlySet<LiveType>;
  /** Cursor as text. `now` or undefined means only events from now on. */
  after: string | undefined;
  filter: EventFilter;
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

/** A stream whose response has begun. */
interface BegunStream {
  connection: SseConnection;
  start: Cursor;
  /** The first page after `start`. */
  page: EventPage;
  changes: LiveQueue | undefined;
  /** Aborts when the caller's token ends or the gateway shuts down. */
  closing: AbortSignal;
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
    // Every stream adds a listener. This is no leak, because the waiting slots limit the number of streams.
    setMaxListeners(0, shutdown);
  }

  /**
   * Serves a stream and resolves at its end. Errors are thrown only before the response begins.
   * @throws {CursorExpiredError}
   * @throws {Problem} if all waiting slots are taken
   */
  async serve(request: StreamRequest, reply: StreamReply): Promise<void> {
    const slot = this.slots.acquire(request.caller);
    if (!slot.acquired) throw noSlotProblem(slot.reachedLimit, 'open event streams and long polls');
    const { signal: closing, release } = combineAbortSignals(request.ended, this.shutdown);
    try {
      await this.followChanges(request, async (changes) => {
        const { start, page } = await this.begin(request);
        const connection = new SseConnection(reply.raw, this.settings.writeTimeoutMs, closing);
        reply.takeOver();
        connection.open();
        if (!reply.headOnly) await this.run(request, { connection, start, page, changes, closing });
        await connection.end();
      });
    } finally {
      release();
      slot.release();
    }
  }

  private async run(
    { caller, filter, allowed }: StreamRequest,
    { connection, start, page, changes, closing }: BegunStream,
  ): Promise<void> {
    const log = this.logs.follow(caller.account);
    const { follower } = log;
    changes?.setWake(() => {
      follower.wake();
    });
    try {
      const read = (after: Cursor): Promise<EventPage> => log.read(after, PAGE_SIZE, filter);
      const source = { read, follower, allowed, ...(changes === undefined ? {} : { changes }) };
      const stream = new EventStream(source, connection, this.settings, start);
      await stream.run(page, AbortSignal.any([connection.disconnected, closing]));
    } finally {
      follower.stop();
    }
  }

  /** Learns of changes that are not stored, if the caller asked for them. @throws {Problem} if that is impossible now */
  private async followChanges(
    { caller, liveTypes }: StreamRequest,
    serve: (changes?: LiveQueue) => Promise<void>,
  ): Promise<void> {
    if (liveTypes.size === 0) {
      await serve();
      return;
    }
    const changes = new LiveQueue(caller, liveTypes);
    const { ready, leave } = this.live.follow(changes);
    try {
      await withDeadline(ready, SUBSCRIBE_TIMEOUT_MS, 'the subscription').catch(() => {
        throw new Problem(
          'unavailable',
          'The event stream cannot report changes of conversations and sends at the moment.',
          {
            headers: retryAfter(SUBSCRIBE_RETRY_MS),
          },
        );
      });
      await serve(changes);
    } finally {
      leave();
    }
  }

  private async begin({
    caller: { account },
    after,
    filter,
  }: StreamRequest): Promise<{ start: Cursor; page: EventPage }> {
    const given = after === undefined ? undefined : parseCursor(after);
    const start = given ?? (await this.log.end(account));
    return { start, page: await this.log.read(account, start, PAGE_SIZE, filter) };
  }
}
