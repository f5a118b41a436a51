import { Inject, Injectable } from '@nestjs/common';
import {
  type Cursor,
  type EventFilter,
  type EventLog,
  type EventPage,
  type EventLogNotifier,
  isLogPositionBefore,
  type LoggedEvent,
  EventLogFollower,
  selectEvents,
} from '#events';
import { pause } from '#platform';
import { isStoreFault } from '../problems/store-fault.js';
import { EVENT_LOG, EVENT_LOG_NOTIFIER, EVENT_WAITS } from '../tokens.js';
import type { WaitSettings } from './wait-settings.js';

/** Minimum time between two reads of one account's log, in milliseconds. It bounds the load on Redis. */
const MIN_READ_INTERVAL_MS = 70;
/** Maximum number of events that one read returns. */
const PAGE_SIZE = 100;
/** Maximum number of recent events in memory for one account. */
const MAX_EVENTS = 500;
/**
 * Maximum length of the data of these events, in characters: of one account, and of all accounts together. The newest
 * event of an account is kept whatever its length.
 */
const MAX_LENGTH = { account: 1_000_000, all: 32_000_000 };

/** The recent events of a log, without a gap. */
interface RecentEvents {
  epoch: string;
  /** Position before the first of the events. */
  from: string;
  /** Position of the last event, or `from` if there is none. */
  end: string;
  events: LoggedEvent[];
  /** Sum of the lengths of the events' data. */
  length: number;
}

/** The new events of one account's log, as all event streams of one gateway read them. */
export interface SharedLog {
  /** Follower that is woken when {@link read} may return more than before. */
  follower: EventLogFollower;
  /**
   * Returns the events after a cursor, like {@link EventLog.read}. Makes a request to Redis only if the cursor is older
   * than the events in memory.
   * @throws {CursorExpiredError}
   */
  read(after: Cursor, limit: number, filter: EventFilter): Promise<EventPage>;
}

/**
 * Reads the new events of each account once, whatever the number of event streams: one loop per account with streams
 * keeps the recent events in memory, and wakes the streams when there are new ones.
 */
@Injectable()
export class SharedLogs {
  private readonly accounts = new Map<string, AccountLog>();

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(EVENT_LOG_NOTIFIER) private readonly notifier: EventLogNotifier,
    @Inject(EVENT_WAITS) private readonly settings: WaitSettings,
  ) {}

  /** Follows an account's log. The caller must stop the follower, exactly once. */
  follow(account: string): SharedLog {
    let shared = this.accounts.get(account);
    if (shared === undefined) {
      shared = new AccountLog(account, this.log, this.notifier, {
        recheckMs: this.settings.recheckMs,
        maxLength: () => Math.min(MAX_LENGTH.account, MAX_LENGTH.all / this.accounts.size),
      });
      this.accounts.set(account, shared);
      // The more accounts have streams, the less each may keep.
      for (const other of this.accounts.values()) other.trim();
    }
    const own = shared;
    return own.follow(() => {
      // A stream that follows later gets a new loop.
      if (this.accounts.get(account) === own) this.accounts.delete(account);
    });
  }
}

interface AccountLimits {
  /** Interval at which the log is read even without a notification, in milliseconds. */
  recheckMs: number;
  /** Returns the maximum length of the data of the events in memory, in characters. */
  maxLength: () => number;
}

class AccountLog {
  private recent: RecentEvents | undefined;
  private readonly followers = new Set<EventLogFollower>();
  private readonly stopping = new AbortController();

  constructor(
    private readonly account: string,
    private readonly log: Pick<EventLog, 'read' | 'end'>,
    private readonly notifier: EventLogNotifier,
    private readonly limits: AccountLimits,
  ) {}

  /** @param whenUnused called when the last follower has left */
  follow(whenUnused: () => void): SharedLog {
    const isFirst = this.followers.size === 0;
    // The stream reads once before it waits, because the log may have grown since its first page.
    const follower = new EventLogFollower(false, (leaving) => {
      this.followers.delete(leaving);
      if (this.followers.size > 0) return;
      this.stopping.abort();
      whenUnused();
    });
    this.followers.add(follower);
    // Never rejects: `step` handles what the log may throw.
    if (isFirst) void this.run();
    return { follower, read: (after, limit, filter) => this.read(after, limit, filter) };
  }

  /** Removes the oldest events in excess of the limits. */
  trim(): void {
    const { recent } = this;
    const maxLength = this.limits.maxLength();
    if (recent !== undefined && recent.length > maxLength)
      this.recent = withNewest(recent, [], recent.end, maxLength);
  }

  private async read(after: Cursor, limit: number, filter: EventFilter): Promise<EventPage> {
    const { recent } = this;
    if (
      recent === undefined ||
      recent.epoch !== after.epoch ||
      isLogPositionBefore(after.position, recent.from)
    )
      return await this.log.read(this.account, after, limit, filter);
    return await pageOf(recent, after, limit, filter);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const source = this.notifier.follow(this.account);
    try {
      while (!signal.aborted) {
        const began = performance.now();
        const hasMore = await this.step();
        if (!hasMore) await source.waitForGrowth(this.limits.recheckMs, signal);
        await pause(Math.max(began + MIN_READ_INTERVAL_MS - performance.now(), 0), signal);
      }
    } finally {
      source.stop();
    }
  }

  /** Reads what is new. Returns true if there is more to read. */
  private async step(): Promise<boolean> {
    try {
      return await this.readNew();
    } catch (error) {
      // While Redis is unavailable, there is nothing new. After any other error, the streams read the log themselves,
      // and each stream ends with the error of its own read.
      if (!isStoreFault(error)) this.forget();
      return false;
    }
  }

  private async readNew(): Promise<boolean> {
    const { recent } = this;
    if (recent === undefined) {
      const { epoch, position } = await this.log.end(this.account);
      this.recent = { epoch, from: position, end: position, events: [], length: 0 };
      // What was added before this position may be missing from the streams' last reads.
      this.wakeAll();
      return false;
    }
    const after = { epoch: recent.epoch, position: recent.end };
    const { events, next, hasMore } = await this.log.read(this.account, after, PAGE_SIZE, {});
    if (events.length === 0) return hasMore;
    this.recent = withNewest(recent, events, next.position, this.limits.maxLength());
    this.wakeAll();
    return hasMore;
  }

  private forget(): void {
    this.recent = undefined;
    this.wakeAll();
  }

  private wakeAll(): void {
    for (const follower of this.followers) follower.wake();
  }
}

/** Adds events, and removes the oldest ones in excess of the limits. */
function withNewest(
  recent: RecentEvents,
  added: readonly LoggedEvent[],
  end: string,
  maxLength: number,
): RecentEvents {
  const events = [...recent.events, ...added];
  let length = added.reduce((sum, { data }) => sum + data.length, recent.length);
  let from = recent.from;
  let removed = 0;
  while (events.length - removed > MAX_EVENTS || (length > maxLength && removed < events.length - 1)) {
    const oldest = events[removed];
    if (oldest === undefined) break;
    from = oldest.position;
    length -= oldest.data.length;
    removed += 1;
  }
  return { epoch: recent.epoch, from, end, events: events.slice(removed), length };
}

async function pageOf(
  { epoch, end, events }: RecentEvents,
  after: Cursor,
  limit: number,
  filter: EventFilter,
): Promise<EventPage> {
  const page: LoggedEvent[] = [];
  let { position } = after;
  const later = events.slice(firstAfter(events, after.position));
  const matching = new Set(await selectEvents(filter, later));
  for (const event of later) {
    if (page.length === limit) return { events: page, next: { epoch, position }, hasMore: true };
    position = event.position;
    if (matching.has(event)) page.push(event);
  }
  // A stream that has read the log itself may be ahead of the events in memory.
  const next = isLogPositionBefore(position, end) ? end : position;
  return { events: page, next: { epoch, position: next }, hasMore: false };
}

/** Returns the index of the first event after a position. */
function firstAfter(events: readonly LoggedEvent[], position: string): number {
  const index = events.findLastIndex((event) => !isLogPositionBefore(position, event.position));
  return index + 1;
}
