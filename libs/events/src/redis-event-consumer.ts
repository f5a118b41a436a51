import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { LoggedEvent } from './event.js';
import { logKeys } from './redis-append.js';
import { readerLeaseKey } from './redis-reader.js';
import { readStreamEntry, type StreamEntry } from './redis-stream-entry.js';

const readNewEvents = LuaScript.from(import.meta.url, 'lua/read-new-events.lua');

const acknowledgeEvents = LuaScript.from(import.meta.url, 'lua/acknowledge-events.lua');

const releaseReader = LuaScript.from(import.meta.url, 'lua/release-reader.lua');

const GROUP = 'dispatch';

/** Result of a read: new events, nothing new, or another process holds the lease for at least `forMs` milliseconds. */
export type ReadResult =
  { kind: 'events'; events: LoggedEvent[] } | { kind: 'nothing' } | { kind: 'elsewhere'; forMs: number };

/**
 * Reads one account's log in order, each event at least once. Only one consumer at a time reads, under a lease. Its
 * successor first reads the events that it did not acknowledge. Everything derived from the events must be stored under
 * the same lease, so that a paused reader stores nothing after its successor; see `readerLeaseKey`.
 */
export class RedisEventConsumer {
  private readonly log: string;
  private readonly counters: string;
  private readonly lease: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    private readonly account: string,
    /** Token of this reader, unique among all processes. */
    private readonly token: string,
    /** Duration of the lease without renewal, in milliseconds. */
    private readonly leaseMs: number,
    /** Called if the consumer group was lost (Redis was restored or emptied): events after `position` are read again. */
    private readonly onRestart: (position: string) => void,
  ) {
    const keys = accountKeys(prefix, account);
    const { log, logCounters } = logKeys(keys);
    this.log = log;
    this.counters = logCounters;
    this.lease = readerLeaseKey(keys);
  }

  /** Reads at most `count` events. Renews the lease, or takes it if it is free. */
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

  /** Records that the events are processed and need not be read again. */
  async acknowledge(events: readonly LoggedEvent[]): Promise<void> {
    if (events.length === 0) return;
    await acknowledgeEvents.run(
      this.redis,
      { log: this.log, logCounters: this.counters },
      { group: GROUP, positions: events.map(({ position }) => position) },
    );
  }

  /** Releases the lease, so that another process can read at once. */
  async release(): Promise<void> {
    await releaseReader.run(this.redis, { lease: this.lease }, { token: this.token });
  }
}
