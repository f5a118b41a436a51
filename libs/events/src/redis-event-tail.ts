import { randomBytes } from 'node:crypto';
import { accountKeys, closeRedis, type RedisClient } from '#platform';
import { type EventTail, EventLogFollower } from './event-tail.js';
import { channelOfNewEvents } from './redis-append.js';

/**
 * Time between two heartbeats, in milliseconds. A heartbeat is a message that this process publishes to
 * itself through Redis.
 */
const HEARTBEAT_MS = 5_000;
/** Time after a received heartbeat during which the connection is assumed to work, in milliseconds. */
const TRUSTED_MS = 12_000;

/**
 * Implements {@link EventTail} with Redis publish/subscribe. The script that appends events to a log also
 * publishes the notification. One connection serves all accounts, even on a Redis Cluster, where blocking
 * reads would need one connection per node. The connection is opened for the first follower. It subscribes
 * only to the channels of accounts that have followers.
 */
export class RedisEventTail implements EventTail {
  private readonly followers = new Map<string, Set<EventLogFollower>>();
  private subscriber: RedisClient | undefined;
  private closed = false;
  private readonly heartbeatChannel: string;
  private heartbeat: NodeJS.Timeout | undefined;
  /** When the last heartbeat arrived, by `performance.now()`, in milliseconds. */
  private lastHeartbeatAt = -Infinity;

  /**
   * @param open opens a connection that reconnects whenever Redis was unreachable; {@link close} closes it
   * @param publisher client that publishes the heartbeats; without it, {@link isTrusted} always returns false
   */
  constructor(
    private readonly open: () => RedisClient,
    private readonly prefix: string,
    private readonly publisher?: RedisClient,
  ) {
    this.heartbeatChannel = `${prefix}:tail:${randomBytes(8).toString('hex')}`;
  }

  /**
   * Returns true if notifications currently arrive. Returns false while the connection is lost, or if the
   * Redis user lacks the right to publish or subscribe. When the result changes to false, all followers are
   * woken.
   */
  isTrusted(): boolean {
    return performance.now() - this.lastHeartbeatAt < TRUSTED_MS;
  }

  follow(account: string): EventLogFollower {
    const channel = channelOfNewEvents(accountKeys(this.prefix, account));
    const existing = this.followers.get(channel);
    // True for the first follower of a channel. It misses nothing before Redis confirms the subscription,
    // because the confirmation wakes it.
    const follower = new EventLogFollower(existing === undefined, (leaving) => {
      this.removeFollower(channel, leaving);
    });
    if (existing === undefined) {
      this.followers.set(channel, new Set([follower]));
      this.subscribe(channel);
    } else {
      existing.add(follower);
    }
    return follower;
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.heartbeat);
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

  private removeFollower(channel: string, follower: EventLogFollower): void {
    const remaining = this.followers.get(channel);
    remaining?.delete(follower);
    if (remaining?.size !== 0) return;
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
        if (channel === this.heartbeatChannel) this.lastHeartbeatAt = performance.now();
        else this.wake(channel);
      });
      if (this.publisher !== undefined) this.startHeartbeat(this.subscriber, this.publisher);
    }
    return this.subscriber;
  }

  private startHeartbeat(subscriber: RedisClient, publisher: RedisClient): void {
    const publishHeartbeat = (): void => {
      if (this.lastHeartbeatAt > -Infinity && !this.isTrusted()) this.endTrust();
      publisher.publish(this.heartbeatChannel, '').catch(ignoreClosed);
    };
    this.heartbeat = setInterval(publishHeartbeat, HEARTBEAT_MS);
    subscriber.on('close', () => {
      this.endTrust();
    });
    subscriber.subscribe(this.heartbeatChannel).then(publishHeartbeat, ignoreClosed);
  }

  private endTrust(): void {
    this.lastHeartbeatAt = -Infinity;
    if (this.closed) return;
    for (const channel of this.followers.keys()) this.wake(channel);
  }
}

/**
 * Ignores the error of a failed Redis command. The connection logs its errors itself. Until the connection
 * works again, readers poll the event log.
 */
function ignoreClosed(): void {
  // The error is ignored on purpose.
}
