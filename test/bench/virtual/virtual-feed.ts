import { DueHeap } from './due-heap.js';
import type { Message, Traffic } from './traffic.js';

/** Messages on a page. */
const PAGE = 20;

/** Decides who is read when. Times are in seconds from the start of the trial. */
export interface Policy {
  /** When a contact is due for the first time. */
  start(contact: number): number;
  /** When a contact is due again that has just been read; `found` are the messages that were new, in order of time. */
  polled(contact: number, now: number, found: readonly Message[]): number;
  /** When a contact is due that has a new message; only for a policy that knows what nobody can know. */
  written?(message: Message): number | undefined;
}

export interface FeedSettings {
  traffic: Traffic;
  policy: Policy;
  /** All requests, of polls and of contact lists. */
  requestsPerSecond: number;
  /** From here on delays are measured. */
  warmUpSeconds: number;
  /** No contact is read more often than this; seconds. */
  minSeconds: number;
  /** The contact list is read this often and shows each contact's last-message date. */
  listEverySeconds?: number;
}

export interface FeedResult {
  /** Of every message that was written after the warm-up and found, in order of size; seconds. */
  delays: Float64Array;
  /** Messages that were written after the warm-up and never found. */
  unread: number;
  polls: number;
  requests: number;
}

/** Requests of one poll where the newest come first: a page that is new throughout leads to the next; then one look at the head. */
export function requestsOf(fresh: number): number {
  return fresh < PAGE ? 1 : Math.floor(fresh / PAGE) + 2;
}

/** Plays a trial in virtual time: one token, then the contact that is due first, then its request. */
export function playFeed(settings: FeedSettings): FeedResult {
  return new VirtualFeed(settings).play();
}

class VirtualFeed {
  private readonly heap: DueHeap;
  private readonly unread: Message[][];
  private readonly readAt: Float64Array;
  private readonly delays: number[] = [];
  private written = 0;
  private listed = 0;
  private polls = 0;
  private requests = 0;

  constructor(private readonly settings: FeedSettings) {
    const { contacts } = settings.traffic;
    this.heap = new DueHeap(contacts);
    this.unread = Array.from({ length: contacts }, () => []);
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
        // A token that is left over goes to whoever is due next, but never before its minimum interval.
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
    const found = this.unread[contact] ?? [];
    for (const { at } of found) if (at >= this.settings.warmUpSeconds) this.delays.push(now - at);
    if (found.length > 0) this.unread[contact] = [];
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
      this.unread[message.contact]?.push(message);
      const due = policy.written?.(message);
      if (due !== undefined) this.heap.set(message.contact, Math.min(due, this.heap.dueOf(message.contact)));
    }
  }

  /** Whoever has had a message since the last list and has not been read since is due at once. */
  private readList(now: number): void {
    const { messages } = this.settings.traffic;
    for (; this.listed < this.written; this.listed += 1) {
      const contact = messages[this.listed]?.contact ?? 0;
      if ((this.unread[contact]?.length ?? 0) > 0)
        this.heap.set(contact, Math.min(now - 1e6, this.heap.dueOf(contact)));
    }
  }

  private result(): FeedResult {
    const { warmUpSeconds } = this.settings;
    const unread = this.unread.flat().filter(({ at }) => at >= warmUpSeconds).length;
    return {
      delays: Float64Array.from(this.delays).sort(),
      unread,
      polls: this.polls,
      requests: this.requests,
    };
  }
}

export function mean(delays: Float64Array): number {
  return delays.reduce((sum, delay) => sum + delay, 0) / Math.max(delays.length, 1);
}

/** The delay that this part of them do not exceed. */
export function percentile(delays: Float64Array, part: number): number {
  return delays[Math.min(Math.floor(delays.length * part), delays.length - 1)] ?? 0;
}
