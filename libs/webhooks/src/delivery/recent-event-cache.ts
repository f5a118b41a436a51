import { type LoggedEvent, eventToJson } from '#events';
import type { ClaimedDelivery } from './delivery-store.js';

/** Default max total size of the cached events, in characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Estimated size of an event without its JSON, in characters. */
const OVERHEAD = 512;

/** The parts of an event that a claimed delivery needs. */
export type EventContent = Pick<ClaimedDelivery, 'body' | 'trace'>;

/**
 * The cached events of one account: all events that this process has read from a period of the account's event log.
 * Events of the period that only another process has read are missing. Times are in milliseconds since 1970.
 */
export interface RecentEvents {
  /** Start of the period, exclusive. */
  after: number;
  /** End of the period, inclusive. */
  until: number;
  /** The contents by event id. */
  contents: Map<string, EventContent>;
}

/**
 * A cached event: its account and id, its time in milliseconds since 1970 (`ms`, from its position in the log), and
 * its estimated size in characters.
 */
interface CachedEvent {
  account: string;
  id: string;
  ms: number;
  size: number;
}

/**
 * Caches the events that this process has read from the event logs most recently. Claims therefore need not read
 * these events from Redis again, and each event is converted to JSON only once for all webhooks. When the cache is
 * too large, the oldest events are evicted.
 */
export class RecentEventCache {
  /** The accounts that have cached events. */
  private readonly accounts = new Map<string, RecentEvents>();
  /** The cached events of all accounts, oldest first. */
  private readonly events = new Set<CachedEvent>();
  private size = 0;

  constructor(private readonly maxCharacters = MAX_CHARACTERS) {}

  /**
   * Adds events to the cache. Must be called before deliveries of the events are created, so that claims in this
   * process find the events in the cache.
   */
  add(account: string, events: readonly LoggedEvent[]): void {
    for (const event of events) {
      const ms = Number.parseInt(event.position, 10);
      const recent: RecentEvents = this.accounts.get(account) ?? {
        ...{ after: ms - 1, until: ms },
        contents: new Map(),
      };
      this.accounts.set(account, recent);
      recent.until = Math.max(recent.until, ms);
      if (recent.contents.has(event.id)) continue;
      const content = contentOfEvent(event);
      recent.contents.set(event.id, content);
      const size = content.body.length + OVERHEAD;
      this.events.add({ account, id: event.id, ms, size });
      this.size += size;
    }
    for (const oldest of this.events) {
      if (this.size <= this.maxCharacters) return;
      this.remove(oldest);
    }
  }

  /** Returns the cached events of an account. The result changes with the cache. */
  of(account: string): Readonly<RecentEvents> {
    return this.accounts.get(account) ?? { after: 0, until: 0, contents: new Map() };
  }

  /** Removes all events of an account from the cache. */
  forget(account: string): void {
    for (const event of this.events) if (event.account === account) this.remove(event);
  }

  private remove(event: CachedEvent): void {
    this.events.delete(event);
    this.size -= event.size;
    const recent = this.accounts.get(event.account);
    if (recent === undefined) return;
    recent.contents.delete(event.id);
    recent.after = Math.max(recent.after, event.ms);
    if (recent.contents.size === 0) this.accounts.delete(event.account);
  }
}

/**
 * Returns the event as JSON, and its trace. The JSON is byte for byte the same for every attempt, even if another
 * build of Tidings makes the attempt.
 */
export function contentOfEvent(event: LoggedEvent): EventContent {
  return { body: eventToJson(event), ...(event.trace === undefined ? {} : { trace: event.trace }) };
}
