import { type EventLogNotifier, type EventLogFollower, type ReaderLease, RedisEventConsumer } from '#events';
import { type Logger, newId, pause, type RedisClient } from '#platform';
import type { EventDispatcher } from '#webhooks';
import type { AccountFollower } from '../account-watch.js';

/** Maximum number of events read at once. */
const BATCH_SIZE = 500;
/**
 * Maximum wait for a hint of new events before the log is read anyway, in milliseconds: a hint can be lost.
 */
const WAIT_MS = 1_000;
/**
 * Maximum wait for a hint of new events while hints arrive reliably, in milliseconds. Each wait is shortened at
 * random, to spread the reads of many accounts.
 */
const NOTIFIED_WAIT_MS = 60_000;
/**
 * Lease of a log reader, in milliseconds. Another worker takes over a log when the lease of a dead reader expires.
 */
const LEASE_MS = 5_000;
const RETRY_DELAY_MS = 1_000;

/** The loop that reads one account's log. */
interface Loop {
  stopping: AbortController;
  ended: Promise<void>;
}

/**
 * Reads the log of each existing account and creates the deliveries of its events. All accounts share two
 * Redis connections: one for commands, and one that receives hints of new events.
 */
export class EventLogReader implements AccountFollower {
  private readonly loops = new Map<string, Loop>();
  private stopping = false;

  constructor(
    private readonly dispatcher: Pick<EventDispatcher, 'dispatch'>,
    private readonly redis: RedisClient,
    private readonly notifier: EventLogNotifier & { isReceiving(): boolean },
    private readonly prefix: string,
    private readonly logger: Logger,
  ) {}

  added(account: string): void {
    const earlier = this.loops.get(account);
    if (this.stopping || (earlier !== undefined && !earlier.stopping.signal.aborted)) return;
    const stop = new AbortController();
    const begin = earlier?.ended ?? Promise.resolve();
    const done = begin.then(() => this.loop(account, stop.signal));
    const loop: Loop = { stopping: stop, ended: done };
    this.loops.set(account, loop);
    void done.then(() => {
      if (this.loops.get(account) === loop) this.loops.delete(account);
    });
  }

  removed(account: string): void {
    this.loops.get(account)?.stopping.abort();
  }

  /** Stops reading. Resolves when all events that were read are dispatched. */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const { stopping: stop } of this.loops.values()) stop.abort();
    await Promise.all([...this.loops.values()].map(({ ended: done }) => done));
    await this.notifier.close();
  }

  private async loop(account: string, signal: AbortSignal): Promise<void> {
    const lease: ReaderLease = { token: newId('req'), leaseMs: LEASE_MS };
    const consumer = this.consumerOf(account, lease);
    const follower = this.notifier.follow(account);
    while (!signal.aborted) {
      try {
        await this.readOnce(account, consumer, lease, follower, signal);
      } catch (error) {
        if (isAborted(signal)) break;
        this.logger.error(
          { account, err: error },
          'could not create the webhook deliveries of new events; retrying',
        );
        await pause(RETRY_DELAY_MS, signal);
      }
    }
    follower.stop();
    await this.release(account, consumer);
  }

  private consumerOf(account: string, { token }: ReaderLease): RedisEventConsumer {
    const restarted = (position: string): void => {
      this.logger.warn(
        { account, position },
        'the Redis consumer group of the event log was lost; reading the events after `position` again',
      );
    };
    return new RedisEventConsumer(this.redis, this.prefix, account, token, LEASE_MS, restarted);
  }

  private async readOnce(
    account: string,
    consumer: RedisEventConsumer,
    lease: ReaderLease,
    follower: EventLogFollower,
    signal: AbortSignal,
  ): Promise<void> {
    const reading = await consumer.read(BATCH_SIZE);
    switch (reading.kind) {
      case 'events':
        await this.dispatcher.dispatch(account, reading.events, lease);
        await consumer.acknowledge(reading.events);
        return;
      case 'nothing':
        await follower.waitForGrowth(this.waitMs(), signal);
        return;
      case 'elsewhere':
        await pause(Math.min(reading.forMs, WAIT_MS), signal);
    }
  }

  private waitMs(): number {
    return this.notifier.isReceiving() ? NOTIFIED_WAIT_MS * (0.75 + Math.random() / 4) : WAIT_MS;
  }

  /**
   * Releases the reader lease so that another worker takes over at once. If the release fails, another worker
   * waits for the lease to expire.
   */
  private async release(account: string, consumer: RedisEventConsumer): Promise<void> {
    if (this.redis.status !== 'ready') return;
    try {
      await consumer.release();
    } catch (error) {
      this.logger.warn(
        { account, err: error },
        'could not release the lease for reading an event log; other workers wait until the lease expires',
      );
    }
  }
}

/** Reads the flag through a function: the compiler does not expect the flag to change during an await. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
