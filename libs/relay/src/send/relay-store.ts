import type { Taken } from './idempotency-keys.js';
import type { IdempotencyKey } from './send-intake.js';
import type { TransitionName } from './send-life.js';
import type { BoundMessage, SendOrder, SendProgress, SendRecord } from './send-record.js';

/** A step of a send's life, with everything that changes in the same step. */
export interface StateChange {
  /** What happened: by {@link passage} it says the status after it, its event, and where the send is kept. */
  transition: TransitionName;
  /** What else is known of it then. */
  state: SendProgress;
  /** When the lane is looked at again, from now, in milliseconds; a lane that is left goes on at once. */
  laneDueInMs?: number;
  /** When to ask again for the sighting of an accepted one, from now, in milliseconds; null for never again. */
  confirmInMs?: number | null;
  /** The message that it is; a message that is another send's already refuses the transition. */
  claim?: BoundMessage & { duplicate?: boolean };
  /**
   * Redis' life, which ends with a restart, a failover or a restored backup. `same`: the transition is refused in
   * another one than the send was stored or last looked for in; `this`: it is looked for in this one.
   */
  redisRun?: 'mustMatch' | 'update';
}

/** What became of a send that was to be stored. */
export type Stored = { kind: 'new' } | Taken;

/** The send that a message is. */
export interface BoundSend {
  sendId: string;
  /** Whether another message is that send too, and was found before. */
  duplicate?: true;
}

/** The head of a lane. */
export interface LaneHead {
  record: SendRecord;
  /** Redis' clock, in milliseconds since 1970. */
  now: number;
  /**
   * Since when Redis lives another life than the one in which the send was stored or last looked for: what became of it
   * in the last seconds before may be lost. Absent in the same life.
   */
  redisRestartedAt?: number;
  /**
   * The addresses that the account's contact lists came from, by stamp, each with that of the first address of the same
   * service.
   */
  services: ReadonlyMap<string, string>;
  /** Since when Redis lives another life than before, if it was this very look that noticed it. */
  noticedRestartAt?: number;
}

/** A queued send whose end may have come, and Redis' clock, in milliseconds since 1970. */
export type ExpirableSend = Pick<LaneHead, 'record' | 'now'>;

/** Where sends are kept. Every change is one step, together with its event. */
export interface RelayStore {
  /** Stores a send that is `queued`, in its lane, or `scheduled`; unless the idempotency key has one already. */
  insert(account: string, order: SendOrder, idempotency?: IdempotencyKey): Promise<Stored>;

  find(account: string, id: string): Promise<SendRecord | undefined>;

  /**
   * The record after the transition, or undefined if the send changed since it was read.
   * @throws {ImpossiblePassageError} for what cannot happen to a send of that status
   */
  apply(account: string, record: SendRecord, change: StateChange): Promise<SendRecord | undefined>;

  /** The send whose turn it is, or undefined for an empty lane. */
  head(account: string, lane: string): Promise<LaneHead | undefined>;

  /** Takes a send that does not belong there out of its lane. */
  clear(account: string, record: SendRecord): Promise<void>;

  /** Puts the next look at a lane off, from now, in milliseconds; false if this send is not its head (any more). */
  postpone(account: string, head: SendRecord, ms: number): Promise<boolean>;

  /** Makes lanes due that wait, at most `count`, whatever they wait for; which ones. */
  release(account: string, count: number): Promise<string[]>;

  /** Lanes that are due, at most `count`. */
  dueLanes(account: string, count: number): Promise<string[]>;

  /** Sends whose sighting is to be asked for now, at most `count`. */
  dueConfirms(account: string, count: number): Promise<SendRecord[]>;

  /**
   * Queued sends whose `expiresAt` has come, and those that are in their lanes for longer than `maxAgeMs`, at most `count`
   * of each, wherever they stand in their lanes.
   */
  ending(account: string, maxAgeMs: number, count: number): Promise<ExpirableSend[]>;

  /**
   * Moves scheduled sends whose time has come into their lanes, at most `count`, all in one step: their recipients. Those
   * of the same time go in the order of their acceptance.
   */
  promote(account: string, count: number): Promise<string[]>;

  /** In how many milliseconds the next scheduled send is due, if there is one. */
  nextScheduled(account: string): Promise<number | undefined>;

  /**
   * The last `count` sends to this recipient that no message is bound to, the first begun first; then those of its lane
   * that may have been posted in another life of Redis.
   */
  awaiting(account: string, phoneNumber: string, count: number): Promise<SendRecord[]>;

  /** The sends that these messages of a contact are, by message id. */
  claims(account: string, contactId: string, messageIds: readonly string[]): Promise<Map<string, BoundSend>>;

  /**
   * Removes finished sends by age and number, the oldest first; the orders that are gone. Those that upstream took, or may
   * have taken, and whose end is not known are not finished: they go only by number, when no other is left, and that is told.
   */
  trim(account: string, retention: { maxAgeMs: number; maxCount: number }): Promise<SendOrder[]>;

  /** Redis' clock, in milliseconds since 1970. */
  now(account: string): Promise<number>;
}
