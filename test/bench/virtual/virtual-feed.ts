import { DueHeap } from './due-heap.js';
import type { Message, Traffic } from './traffic.js';

/** Number of messages per page. */
const PAGE = 20;

/** Decides which contact is polled when. Times are in seconds from the start of the trial. */
export interface Policy {
  /** Returns when a contact is due for the first time. */
  start(contact: number): number;
  /**
   * Returns when a polled contact is due again.
   * @param found the new messages, in order of time
   */
  polled(contact: number, now: number, found: readonly Message[]): number;
  /**
   * Returns when a contact with a new message is due. Only for policies with knowledge that no real policy
   * has.
   */
  written?(message: Message): number | undefined;
}

/** Conditions of a trial. */
export interface FeedSettings {
  traffic: Traffic;
  policy: Policy;
  /** Number of requests per second, for polls and contact lists together. */
  requestsPerSecond: number;
  /** Time from which delays are measured. */
  warmUpSeconds: number;
  /** Minimum time between two polls of a contact, in seconds. */
  minSeconds: number;
  /** Interval of the contact list, in seconds. The list shows the time of each contact's last message. */
  listEverySeconds?: number;
}

/** Result of a trial. */
export interface FeedResult {
  /** Delays of all messages that were written after the warm-up and found, sorted, in seconds. */
  delays: Float64Array;
  /** Number of messages that were written after the warm-up and never found. */
  undetected: number;
  polls: number;
  requests: number;
}

/**
 * Returns the number of requests of one poll with the newest message first. A page with only new messages
 * leads to the next page. A poll of several pages ends with a repeated read of the first page.
 */
export function requestsOf(fresh: number): number {
  return fresh < PAGE ? 1 : Math.floor(fresh / PAGE) + 2;
}

/** Plays a trial in virtual time. Each step takes a token, then the contact with the earliest due time. */
export function playFeed(settings: FeedSettings): FeedResult {
  return new VirtualFeed(settings).play();
}

class VirtualFeed {
  private readonly heap: DueHeap;
  private readonly undetected: Message[][];
  private readonly readAt: Float64Array;
  private readonly delays: number[] = [];
  private written = 0;
  private listed = 0;
  private polls = 0;
  private requests = 0;

  constructor(private readonly settings: FeedSettings) {
    const { contacts } = settings.traffic;
    this.heap = new DueHeap(contacts);
    this.undetected = Array.from({ length: contacts }, () => []);
    this.readAt = new Float64Array(contacts).fill(-Infinity);
  }

  play(): FeedResult {
    const { traffic, policy, requestsPerSecond, listEverySeconds = Infinity } = this.settings;
    for (let contact = 0; contact < traffic.contacts; contact += 1)
      this.heap.set(contact, policy.start(contact));
    let nextList = 0;
    for (let now = 0; now < traffic.seconds;) {
      this.writeUntil(now);
      let spent = 0;
      if (now >= nextList) {
        this.readList(now);
        nextList += listEverySeconds;
        spent = 1;
      } else {
        const contact = this.heap.first() ?? 0;
        const ready = (this.readAt[contact] ?? 0) + this.settings.minSeconds;
        // An unused token serves the next due contact, but never before its minimum interval.
        if (this.heap.dueOf(contact) > now && ready > now) {
          now = Math.min(ready, nextList, now + 1 / requestsPerSecond);
          continue;
        }
        spent = this.poll(contact, now);
      }
      this.requests += spent;
      now += spent / requestsPerSecond;
    }
    return this.result();
  }

  private poll(contact: number, now: number): number {
    const found = this.undetected[contact] ?? [];
    for (const { at } of found) if (at >= this.settings.warmUpSeconds) this.delays.push(now - at);
    if (found.length > 0) this.undetected[contact] = [];
    this.readAt[contact] = now;
    this.polls += 1;
    this.heap.set(contact, this.settings.policy.polled(contact, now, found));
    return requestsOf(found.length);
  }

  private writeUntil(now: number): void {
    const { traffic, policy } = this.settings;
    for (; (traffic.messages[this.written]?.at ?? Infinity) <= now; this.written += 1) {
      const message = traffic.messages[this.written];
      if (message === undefined) break;
      this.undetected[message.contact]?.push(message);
      const due = policy.written?.(message);
      if (due !== undefined) this.heap.set(message.contact, Math.min(due, this.heap.dueOf(message.contact)));
    }
  }

  /** Makes each contact with an undetected message since the last list due at once. */
  private readList(now: number): void {
    const { messages } = this.settings.traffic;
    for (; this.listed < this.written; this.listed += 1) {
      const contact = messages[this.listed]?.contact ?? 0;
      if ((this.undetected[contact]?.length ?? 0) > 0)
        this.heap.set(contact, Math.min(now - 1e6, this.heap.dueOf(contact)));
    }
  }

  private result(): FeedResult {
    const { warmUpSeconds } = this.settings;
    const undetected = this.undetected.flat().filter(({ at }) => at >= warmUpSeconds).length;
    return {
      delays: Float64Array.from(this.delays).sort(),
      undetected,
      polls: this.polls,
      requests: this.requests,
    };
  }
}

/** Returns the average delay. */
export function mean(delays: Float64Array): number {
  return delays.reduce((sum, delay) => sum + delay, 0) / Math.max(delays.length, 1);
}

/** Returns the delay that the given share of delays does not exceed. */
export function percentile(delays: Float64Array, part: number): number {
  return delays[Math.min(Math.floor(delays.length * part), delays.length - 1)] ?? 0;
}
