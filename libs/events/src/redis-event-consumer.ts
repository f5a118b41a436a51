import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { LoggedEvent } from './event.js';
import { logKeys } from './redis-append.js';
import { readerLeaseKey } from './redis-reader.js';
import { readStreamEntry, type StreamEntry } from './redis-stream-entry.js';

const readNewEvents = LuaScript.from(import.meta.url, 'lua/read-new-events.lua');

const acknowledgeEvents = LuaScript.from(import.meta.url, 'lua/acknowledge-events.lua');

const releaseReader = LuaScript.from(import.meta.url, 'lua/release-reader.lua');

const GROUP = 'dispatch';

/** What a try to read brought: events; nothing new; or that another reads, for at least so many milliseconds. */
export type ReadResult =
  { kind: 'events'; events: LoggedEvent[] } | { kind: 'nothing' } | { kind: 'elsewhere'; forMs: number };

/**
 * Reads one account's log, at least once each event and in order: of all consumers one reads at a time, under a lease,
 * and what it read and did not acknowledge its successor reads first. Whatever is stored of the events must be stored
 * under the same lease, so that a reader that was paused stores nothing after its successor; see `readerKey`.
 */
export class RedisEventConsumer {
  private readonly log: string;
  private readonly counters: string;
  private readonly lease: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    private readonly account: string,
    /** Unique among all processes. */
    private readonly token: string,
    /** How long it is waited for when it died. */
    private readonly leaseMs: number,
    /** Told when the group was gone (a restored or emptied Redis): what comes after the place is read again. */
    private readonly onRestart: (position: string) => void,
  ) {
    const keys = accountKeys(prefix, account);
    const { log, logCounters } = logKeys(keys);
    this.log = log;
    this.counters = logCounters;
    this.lease = readerLeaseKey(keys);
  }

  /** The next events, at most `count`; renews the lease, or takes it if nobody holds it. */
  async read(count: number): Promise<ReadResult> {
    const reply = await readNewEvents.run(
      this.redis,
      { log: this.log, logCounters: this.counters, lease: this.lease },
      { group: GROUP, token: this.token, leaseMs: this.leaseMs, maxCount: count },
    );
    const { waitMs, restarted, entries } = reply as {
      waitMs: number;
      restarted: string;
      entries: StreamEntry[];
    };
    if (waitMs > 0) return { kind: 'elsewhere', forMs: waitMs };
    if (restarted !== '') this.onRestart(restarted);
    const events = entries.flatMap((entry) => readStreamEntry(this.account, entry) ?? []);
    return events.length === 0 ? { kind: 'nothing' } : { kind: 'events', events };
  }

  /** Says that the events are dealt with for good. */
  async acknowledge(events: readonly LoggedEvent[]): Promise<void> {
    if (events.length === 0) return;
    await acknowledgeEvents.run(
      this.redis,
      { log: this.log, logCounters: this.counters },
      { group: GROUP, positions: events.map(({ position }) => position) },
    );
  }

  /** Lets another read at once. */
  async release(): Promise<void> {
    await releaseReader.run(this.redis, { lease: this.lease }, { token: this.token });
  }
}
