import { randomBytes } from 'node:crypto';
import { accountKeys, closeRedis, type RedisClient } from '#platform';
import { type EventTail, LogFollower } from './event-tail.js';
import { grownChannel } from './redis-append.js';

/** The tail publishes this often to itself, and trusts its connection for so long after it heard that. */
const PULSE_MS = 5_000;
const TRUSTED_MS = 12_000;

/**
 * {@link EventTail} by Redis' publish and subscribe: the script that appends also publishes. One connection serves all
 * accounts, in a Redis Cluster as well, where a blocking read of the logs would take a connection for each slot. It is
 * opened when somebody first waits, and subscribed only to accounts that somebody waits for.
 */
export class RedisEventTail implements EventTail {
  private readonly followers = new Map<string, Set<LogFollower>>();
  private subscriber: RedisClient | undefined;
  private closed = false;
  private readonly pulseChannel: string;
  private pulse: NodeJS.Timeout | undefined;
  /** By `performance.now()`. */
  private heardAt = -Infinity;

  /**
   * @param open opens a connection that waits for Redis to come back; it belongs to the tail alone
   * @param publisher with which the tail tries whether it hears what is published; without it it is never trusted
   */
  constructor(
    private readonly open: () => RedisClient,
    private readonly prefix: string,
    private readonly publisher?: RedisClient,
  ) {
    this.pulseChannel = `${prefix}:tail:${randomBytes(8).toString('hex')}`;
  }

  /**
   * Whether what is published is heard just now: not while its connection is away, nor where a Redis user may not publish
   * or subscribe. When that ends everyone who waits is woken.
   */
  isTrusted(): boolean {
    return performance.now() - this.heardAt < TRUSTED_MS;
  }

  follow(account: string): LogFollower {
    const channel = grownChannel(accountKeys(this.prefix, account));
    const others = this.followers.get(channel);
    // Where a subscription is under way, its confirmation wakes whoever follows by then.
    const follower = new LogFollower(others === undefined, (leaving) => {
      this.leave(channel, leaving);
    });
    if (others === undefined) {
      this.followers.set(channel, new Set([follower]));
      this.subscribe(channel);
    } else {
      others.add(follower);
    }
    return follower;
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.pulse);
    if (this.subscriber !== undefined) await closeRedis(this.subscriber);
  }

  private subscribe(channel: string): void {
    if (this.closed) return;
    void this.connection()
      .subscribe(channel)
      .then(() => {
        this.wake(channel);
      }, ignoreClosed);
  }

  private leave(channel: string, follower: LogFollower): void {
    const those = this.followers.get(channel);
    those?.delete(follower);
    if (those?.size !== 0) return;
    this.followers.delete(channel);
    if (!this.closed) this.connection().unsubscribe(channel).catch(ignoreClosed);
  }

  private wake(channel: string): void {
    for (const follower of this.followers.get(channel) ?? []) follower.wake();
  }

  private connection(): RedisClient {
    if (this.subscriber === undefined) {
      this.subscriber = this.open();
      this.subscriber.on('message', (channel: string) => {
        if (channel === this.pulseChannel) this.heardAt = performance.now();
        else this.wake(channel);
      });
      if (this.publisher !== undefined) this.startPulse(this.subscriber, this.publisher);
    }
    return this.subscriber;
  }

  private startPulse(subscriber: RedisClient, publisher: RedisClient): void {
    const beat = (): void => {
      if (this.heardAt > -Infinity && !this.isTrusted()) this.trustNoMore();
      publisher.publish(this.pulseChannel, '').catch(ignoreClosed);
    };
    this.pulse = setInterval(beat, PULSE_MS);
    subscriber.on('close', () => {
      this.trustNoMore();
    });
    subscriber.subscribe(this.pulseChannel).then(beat, ignoreClosed);
  }

  private trustNoMore(): void {
    this.heardAt = -Infinity;
    if (this.closed) return;
    for (const channel of this.followers.keys()) this.wake(channel);
  }
}

/** The connection tells of its own troubles, and followers look by themselves meanwhile. */
function ignoreClosed(): void {
  // Nothing is left to do.
}
