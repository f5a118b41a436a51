import { type EventTail, type LogFollower, type ReaderLease, RedisEventConsumer } from '#events';
import { type Logger, newId, pause, type RedisClient } from '#platform';
import type { Dispatcher } from '#webhooks';
import type { AccountFollower } from '../account-watch.js';

const BATCH = 500;
/** How long it is waited for events before it is looked whether a hint of them was lost. */
const WAIT_MS = 1_000;
/** And while the tail is trusted to tell of them; not all accounts are looked at together. */
const TRUSTED_WAIT_MS = 60_000;
/** A dispatcher that died is replaced after so long. */
const LEASE_MS = 5_000;
const AFTER_FAILURE_MS = 1_000;

/** One account's reading, and what ends it. */
interface Loop {
  stop: AbortController;
  done: Promise<void>;
}

/**
 * Reads each account's log and makes deliveries of its events, while there is such an account, until it is stopped. All
 * accounts share two connections: one that is asked, and the tail's, which waits.
 */
export class EventDispatch implements AccountFollower {
  private readonly loops = new Map<string, Loop>();
  private stopping = false;

  constructor(
    private readonly dispatcher: Pick<Dispatcher, 'dispatch'>,
    private readonly redis: RedisClient,
    private readonly tail: EventTail & { isTrusted(): boolean },
    private readonly prefix: string,
    private readonly logger: Logger,
  ) {}

  came(account: string): void {
    const earlier = this.loops.get(account);
    if (this.stopping || (earlier !== undefined && !earlier.stop.signal.aborted)) return;
    const stop = new AbortController();
    const begin = earlier?.done ?? Promise.resolve();
    const done = begin.then(() => this.loop(account, stop.signal));
    const loop: Loop = { stop, done };
    this.loops.set(account, loop);
    void done.then(() => {
      if (this.loops.get(account) === loop) this.loops.delete(account);
    });
  }

  went(account: string): void {
    this.loops.get(account)?.stop.abort();
  }

  /** Resolves when no more events are taken and what was taken is dispatched. */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const { stop } of this.loops.values()) stop.abort();
    await Promise.all([...this.loops.values()].map(({ done }) => done));
    await this.tail.close();
  }

  private async loop(account: string, signal: AbortSignal): Promise<void> {
    const lease: ReaderLease = { token: newId('req'), leaseMs: LEASE_MS };
    const consumer = this.consumerOf(account, lease);
    const follower = this.tail.follow(account);
    while (!signal.aborted) {
      try {
        await this.round(account, consumer, lease, follower, signal);
      } catch (error) {
        if (isAborted(signal)) break;
        this.logger.error({ account, err: error }, 'events could not be dispatched; trying again');
        await pause(AFTER_FAILURE_MS, signal);
      }
    }
    follower.stop();
    await this.leave(account, consumer);
  }

  private consumerOf(account: string, { token }: ReaderLease): RedisEventConsumer {
    const restarted = (place: string): void => {
      this.logger.warn(
        { account, place },
        'the consumer group was lost; events after this place are read again',
      );
    };
    return new RedisEventConsumer(this.redis, this.prefix, account, token, LEASE_MS, restarted);
  }

  private async round(
    account: string,
    consumer: RedisEventConsumer,
    lease: ReaderLease,
    follower: LogFollower,
    signal: AbortSignal,
  ): Promise<void> {
    const reading = await consumer.take(BATCH);
    switch (reading.kind) {
      case 'events':
        await this.dispatcher.dispatch(account, reading.events, lease);
        await consumer.acknowledge(reading.events);
        return;
      case 'nothing':
        await follower.grown(this.waitMs(), signal);
        return;
      case 'elsewhere':
        await pause(Math.min(reading.forMs, WAIT_MS), signal);
    }
  }

  private waitMs(): number {
    return this.tail.isTrusted() ? TRUSTED_WAIT_MS * (0.75 + Math.random() / 4) : WAIT_MS;
  }

  /** So that another reads at once; else it does when the lease is over. */
  private async leave(account: string, consumer: RedisEventConsumer): Promise<void> {
    if (this.redis.status !== 'ready') return;
    try {
      await consumer.leave();
    } catch (error) {
      this.logger.warn({ account, err: error }, 'the reading of a log is left to its lease');
    }
  }
}

/** Asked anew after a wait, which the compiler does not see. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
