import { accountKeys, type RedisChannelSubscriber } from '#platform';
import { type EventLogNotifier, EventLogFollower } from './event-log-notifier.js';
import { channelOfNewEvents } from './redis-append.js';

/**
 * Implements {@link EventLogNotifier} with Redis publish/subscribe. The script that appends events to a log also
 * publishes the notification. One connection serves all accounts, even on a Redis Cluster, where blocking
 * reads would need one connection per node. The notifier subscribes only to the channels of accounts that have
 * followers.
 */
export class RedisEventLogNotifier implements EventLogNotifier {
  private readonly followers = new Map<string, Set<EventLogFollower>>();

  constructor(
    private readonly channels: RedisChannelSubscriber,
    private readonly prefix: string,
  ) {}

  /**
   * Returns true if notifications of new events currently arrive from Redis. When the result changes to false, all
   * readers that wait for new events are woken.
   */
  isReceiving(): boolean {
    return this.channels.isReceiving();
  }

  follow(account: string): EventLogFollower {
    const channel = channelOfNewEvents(accountKeys(this.prefix, account));
    const existing = this.followers.get(channel);
    // A new follower is not notified of earlier events. Its first wait therefore ends early, so that the caller reads
    // the log. For the first follower of a channel, `onGap` ends this wait when the subscription begins. For any
    // later follower, the wait ends at once, because `hasMissedNothing` is false.
    const follower = new EventLogFollower(existing === undefined, (leaving) => {
      this.removeFollower(channel, leaving);
    });
    if (existing === undefined) {
      this.followers.set(channel, new Set([follower]));
      const wake = (): void => {
        this.wake(channel);
      };
      this.channels.subscribe(channel, { onMessage: wake, onGap: wake });
    } else {
      existing.add(follower);
    }
    return follower;
  }

  /** Closes the connection to Redis. This also ends the subscriptions of other users of that connection. */
  async close(): Promise<void> {
    await this.channels.close();
  }

  private removeFollower(channel: string, follower: EventLogFollower): void {
    const remaining = this.followers.get(channel);
    remaining?.delete(follower);
    if (remaining?.size !== 0) return;
    this.followers.delete(channel);
    this.channels.unsubscribe(channel);
  }

  private wake(channel: string): void {
    for (const follower of this.followers.get(channel) ?? []) follower.wake();
  }
}
