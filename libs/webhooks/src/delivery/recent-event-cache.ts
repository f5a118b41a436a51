import { type LoggedEvent, eventToJson } from '#events';
import type { ClaimedDelivery } from './delivery-store.js';

/** Default max total size of the cached events, in characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Estimated size of an event without its data, in characters. */
const OVERHEAD = 512;

/** The parts of an event that a claimed delivery needs. */
export type EventContent = Pick<ClaimedDelivery, 'body' | 'trace'>;

/** A period of an account's event log. Times are in milliseconds since 1970. */
export interface CachedPeriod {
  /** Start of the period, exclusive. */
  after: number;
  /** End of the period, inclusive. */
  until: number;
}

/** A cached event. `content` is set when the event is first delivered. */
interface RecentEvent {
  account: string;
  ms: number;
  size: number;
  event: LoggedEvent;
  content?: EventContent;
}

/**
 * Caches the events that this process has read from the event logs most recently. Claims therefore need not read
 * these events from Redis again, and each event is converted to JSON only once for all webhooks. When the cache is
 * too large, the oldest events are evicted.
 */
export class RecentEventCache {
  /** The cached events by account and id, oldest first. */
  private readonly events = new Map<string, RecentEvent>();
  private readonly periods = new Map<string, CachedPeriod>();
  private size = 0;

  constructor(private readonly maxCharacters = MAX_CHARACTERS) {}

  /**
   * Adds events to the cache. Must be called before deliveries of the events are created, so that claims in this
   * process find the events in the cache.
   */
  add(account: string, events: readonly LoggedEvent[]): void {
    for (const event of events) {
      const ms = Number.parseInt(event.position, 10);
      const period = this.periods.get(account);
      if (period === undefined) this.periods.set(account, { after: ms - 1, until: ms });
      else period.until = Math.max(period.until, ms);
      this.remove(keyOf(account, event.id));
      // Count the data twice, because `content` also contains it after the event is first delivered.
      const size = 2 * event.data.length + OVERHEAD;
      this.events.set(keyOf(account, event.id), { account, ms, size, event });
      this.size += size;
    }
    this.removeOldest();
  }

  /**
   * Returns the period for which the cache contains all events that this process has read from the log. Events that
   * only another process has read are missing from the cache. If no event is cached, the period is empty.
   */
  periodOf(account: string): CachedPeriod {
    return this.periods.get(account) ?? { after: 0, until: 0 };
  }

  /** Returns the content of an event, or undefined if the event is not cached. */
  contentOf(account: string, eventId: string): EventContent | undefined {
    const recent = this.events.get(keyOf(account, eventId));
    if (recent === undefined) return undefined;
    recent.content ??= contentOfEvent(recent.event);
    return recent.content;
  }

  /** Removes all events of an account from the cache. */
  forget(account: string): void {
    for (const [key, recent] of this.events) if (recent.account === account) this.remove(key);
    this.periods.delete(account);
  }

  private removeOldest(): void {
    for (const [key, { account, ms }] of this.events) {
      if (this.size <= this.maxCharacters) return;
      this.remove(key);
      const period = this.periods.get(account);
      if (period === undefined) continue;
      period.after = Math.max(period.after, ms);
      if (period.after >= period.until) this.periods.delete(account);
    }
  }

  private remove(key: string): void {
    const recent = this.events.get(key);
    if (recent === undefined) return;
    this.events.delete(key);
    this.size -= recent.size;
  }
}

/**
 * Returns the event as JSON, and its trace. The JSON is byte for byte the same for every attempt, even if another
 * build of Tidings makes the attempt.
 */
export function contentOfEvent(event: LoggedEvent): EventContent {
  return { body: eventToJson(event), ...(event.trace === undefined ? {} : { trace: event.trace }) };
}

function keyOf(account: string, eventId: string): string {
  return `${account}\n${eventId}`;
}
