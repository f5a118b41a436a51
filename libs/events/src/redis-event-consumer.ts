import { accountKeys, LuaScript, type RedisClient } from '#platform';
import type { LoggedEvent } from './event.js';
import { eventLogRedisKeys } from './redis-append.js';
import { eventLogReaderLeaseRedisKey } from './redis-event-log-reader-lease.js';
import { parseRedisStreamEntry, type StreamEntry } from './redis-stream-entry.js';

const readNewEventsScript = LuaScript.from(import.meta.url, 'lua/read-new-events.lua');

const acknowledgeEventsScript = LuaScript.from(import.meta.url, 'lua/acknowledge-events.lua');

const releaseReaderScript = LuaScript.from(import.meta.url, 'lua/release-reader.lua');

const GROUP = 'dispatch';

/**
 * Result of a read: events that are not acknowledged yet (`events`), no such events (`nothing`), or no read because
 * another process holds the lease (`elsewhere`). That lease ends after `forMs` milliseconds unless it is renewed.
 */
export type ReadResult =
  { kind: 'events'; events: LoggedEvent[] } | { kind: 'nothing' } | { kind: 'elsewhere'; forMs: number };

/**
 * Reads one account's event log in order, each event at least once. A lease ensures that only one consumer
 * reads at a time. When another consumer takes over the lease, it first reads the events that the previous
 * consumer did not acknowledge.
 *
 * Scripts that store data derived from the events must check the lease (see `eventLogReaderLeaseRedisKey`). Otherwise a
 * consumer that was paused could store outdated data after another consumer has taken over.
 */
export class RedisEventConsumer {
  private readonly log: string;
  private readonly counters: string;
  private readonly lease: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    private readonly account: string,
    /** Identifies this consumer as the holder of the lease. Unique among all processes. */
    private readonly token: string,
    /** Time until the consumer's lease on the event log ends, unless the lease is renewed, in milliseconds. */
    private readonly leaseMs: number,
    /**
     * Called if Redis lost the record of which events were read (the consumer group of the stream), but not the
     * position up to which all events are acknowledged. The events after that `position` are then read again.
     */
    private readonly onRestart: (position: string) => void,
  ) {
    const keys = accountKeys(prefix, account);
    const { log, logCounters } = eventLogRedisKeys(keys);
    this.log = log;
    this.counters = logCounters;
    this.lease = eventLogReaderLeaseRedisKey(keys);
  }

  /**
   * Reads at most `count` events. Returns events that were read before but not acknowledged. If there are none,
   * returns new events. Renews the lease, or takes it if no process holds it.
   */
  async read(count: number): Promise<ReadResult> {
    const reply = await readNewEventsScript.run(
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
    const events = entries.flatMap((entry) => parseRedisStreamEntry(this.account, entry) ?? []);
    return events.length === 0 ? { kind: 'nothing' } : { kind: 'events', events };
  }

  /** Records that events were processed, so that they are not read again. */
  async acknowledge(events: readonly LoggedEvent[]): Promise<void> {
    if (events.length === 0) return;
    await acknowledgeEventsScript.run(
      this.redis,
      { log: this.log, logCounters: this.counters },
      { group: GROUP, positions: events.map(({ position }) => position) },
    );
  }

  /** Releases the lease, so that another process can read at once. */
  async release(): Promise<void> {
    await releaseReaderScript.run(this.redis, { lease: this.lease }, { token: this.token });
  }
}
