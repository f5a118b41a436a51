import { accountKeys, closeRedis, type RedisClient } from '#platform';
import { type EventTail, LogFollower } from './event-tail.js';
import { grownChannel } from './redis-append.js';

/**
 * {@link EventTail} by Redis' publish and subscribe: the script that appends also publishes. One connection serves all
 * accounts, in a Redis Cluster as well, where a blocking read of the logs would take a connection for each slot. It is
 * opened when somebody first waits, and subscribed only to accounts that somebody waits for.
 */
export class RedisEventTail implements EventTail {
  private readonly followers = new Map<string, Set<LogFollower>>();
  private subscriber: RedisClient | undefined;
  private closed = false;

  /** @param open opens a connection that waits for Redis to come back; it belongs to the tail alone */
  constructor(
    private readonly open: () => RedisClient,
    private readonly prefix: string,
  ) {}

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
        this.wake(channel);
      });
    }
    return this.subscriber;
  }
}

/** The connection tells of its own troubles, and followers look by themselves meanwhile. */
function ignoreClosed(): void {
  // Nothing is left to do.
}
