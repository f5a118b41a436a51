import { type LoggedEvent, eventToJson } from '#events';
import type { ClaimedDelivery } from './delivery-store.js';

/** Default of the max size of all events together, in characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Estimated size of an event without its data, in characters. */
const OVERHEAD = 512;

/** What a claimed delivery needs of its event. */
export type EventContent = Pick<ClaimedDelivery, 'body' | 'trace'>;

/** A stretch of an account's log, by the first number of its positions: times in milliseconds. */
export interface RecentStretch {
  /** Exclusive. */
  after: number;
  /** Inclusive. */
  until: number;
}

/** An event, until its content is made from it at the first delivery. */
interface RecentEvent {
  account: string;
  ms: number;
  size: number;
  event: LoggedEvent;
  content?: EventContent;
}

/**
 * Keeps the events that this process has read from the logs most recently. A claim need not read them again for each
 * delivery, and the JSON of an event is made once for all webhooks. The oldest events leave when all together are too
 * large.
 */
export class RecentEvents {
  /** By account and id, oldest first. */
  private readonly events = new Map<string, RecentEvent>();
  private readonly stretches = new Map<string, RecentStretch>();
  private size = 0;

  constructor(private readonly maxCharacters = MAX_CHARACTERS) {}

  /** Adds events, before any delivery of them is created. */
  add(account: string, events: readonly LoggedEvent[]): void {
    for (const event of events) {
      const ms = Number.parseInt(event.position, 10);
      const stretch = this.stretches.get(account);
      if (stretch === undefined) this.stretches.set(account, { after: ms - 1, until: ms });
      else stretch.until = Math.max(stretch.until, ms);
      this.remove(keyOf(account, event.id));
      const size = event.data.length + OVERHEAD;
      this.events.set(keyOf(account, event.id), { account, ms, size, event });
      this.size += size;
    }
    this.removeOldest();
  }

  /**
   * Returns the stretch of an account's log whose events are kept. It may lack events that another process has read
   * meanwhile. Without any event, no position is in the stretch.
   */
  stretchOf(account: string): RecentStretch {
    return this.stretches.get(account) ?? { after: 0, until: 0 };
  }

  /** Returns the content of an event, or undefined if the event is not kept. */
  contentOf(account: string, eventId: string): EventContent | undefined {
    const recent = this.events.get(keyOf(account, eventId));
    if (recent === undefined) return undefined;
    recent.content ??= contentOfEvent(recent.event);
    return recent.content;
  }

  /** Removes all events of an account. */
  forget(account: string): void {
    for (const [key, recent] of this.events) if (recent.account === account) this.remove(key);
    this.stretches.delete(account);
  }

  private removeOldest(): void {
    for (const [key, { account, ms }] of this.events) {
      if (this.size <= this.maxCharacters) return;
      this.remove(key);
      const stretch = this.stretches.get(account);
      if (stretch === undefined) continue;
      stretch.after = Math.max(stretch.after, ms);
      if (stretch.after >= stretch.until) this.stretches.delete(account);
    }
  }

  private remove(key: string): void {
    const recent = this.events.get(key);
    if (recent === undefined) return;
    this.events.delete(key);
    this.size -= recent.size;
  }
}

/** Returns the event as JSON, and its trace. Every attempt and every version of the software sends the same bytes. */
export function contentOfEvent(event: LoggedEvent): EventContent {
  return { body: eventToJson(event), ...(event.trace === undefined ? {} : { trace: event.trace }) };
}

function keyOf(account: string, eventId: string): string {
  return `${account}\n${eventId}`;
}
