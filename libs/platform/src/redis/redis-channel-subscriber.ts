import { randomBytes } from 'node:crypto';
import { skipWhileRunning } from '../calls/skip-while-running.js';
import { closeRedis, type RedisClient } from './redis-connection.js';
import { RedisSubscriptionMonitor } from './redis-subscription-monitor.js';

/**
 * Time between two heartbeats, in milliseconds. A heartbeat is a message that this process publishes to
 * itself through Redis.
 */
const HEARTBEAT_MS = 5_000;
/** Time after a received heartbeat during which the connection is assumed to work, in milliseconds. */
const RECEIVING_MS = 12_000;

/** Receives the messages of one channel. */
export interface ChannelListener {
  onMessage(text: string): void;
  /** Called when messages may have been missed: when the subscription begins, and when messages stop arriving. */
  onGap(): void;
}

/**
 * Receives what processes publish through Redis. One connection serves all channels, even on a Redis Cluster. The
 * first subscription opens the connection. Messages are lost while the connection is down, so listeners must not rely
 * on them alone.
 */
export class RedisChannelSubscriber {
  private readonly listeners = new Map<string, ChannelListener>();
  private subscriber: RedisClient | undefined;
  private closed = false;
  private readonly heartbeatChannel: string;
  private heartbeat: NodeJS.Timeout | undefined;
  /**
   * When this process last received a heartbeat that it had published to itself, by `performance.now()`, in
   * milliseconds.
   */
  private lastHeartbeatAt = -Infinity;

  /**
   * @param open opens a connection that reconnects by itself; {@link close} closes it
   * @param publisher client with which the process publishes messages to itself, to check whether messages arrive;
   * without it, {@link isReceiving} always returns false
   */
  constructor(
    private readonly open: () => RedisClient,
    prefix: string,
    private readonly publisher?: RedisClient,
  ) {
    this.heartbeatChannel = `${prefix}:tail:${randomBytes(8).toString('hex')}`;
  }

  /**
   * Returns true if messages currently arrive. Returns false while the connection is lost, or if the Redis user lacks
   * the right to publish or subscribe. Soon after the result changes to false, `onGap` of all listeners is called,
   * except after {@link close}.
   */
  isReceiving(): boolean {
    return !this.closed && performance.now() - this.lastHeartbeatAt < RECEIVING_MS;
  }

  /**
   * Subscribes to a channel. A channel has at most one listener; a later one replaces it. No effect after `close`.
   */
  subscribe(channel: string, listener: ChannelListener): void {
    if (this.closed) return;
    this.listeners.set(channel, listener);
    void this.connection()
      .subscribe(channel)
      .then(() => {
        this.listeners.get(channel)?.onGap();
      }, ignoreClosed);
  }

  unsubscribe(channel: string): void {
    this.listeners.delete(channel);
    if (!this.closed) this.connection().unsubscribe(channel).catch(ignoreClosed);
  }

  /** Closes the connection. May be called several times. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.heartbeat);
    if (this.subscriber !== undefined) await closeRedis(this.subscriber);
  }

  private connection(): RedisClient {
    if (this.subscriber === undefined) {
      this.subscriber = this.open();
      this.subscriber.on('message', (channel: string, text: string) => {
        if (channel === this.heartbeatChannel) this.lastHeartbeatAt = performance.now();
        else this.listeners.get(channel)?.onMessage(text);
      });
      if (this.publisher !== undefined) this.startHeartbeat(this.subscriber, this.publisher);
    }
    return this.subscriber;
  }

  private startHeartbeat(subscriber: RedisClient, publisher: RedisClient): void {
    const watch = new RedisSubscriptionMonitor(subscriber, () => {
      this.stopReceiving();
    });
    const publish = skipWhileRunning(() => publisher.publish(this.heartbeatChannel, ''));
    const publishHeartbeat = (): void => {
      watch.follow();
      if (this.lastHeartbeatAt > -Infinity && !this.isReceiving()) this.stopReceiving();
      publish().catch(ignoreClosed);
    };
    this.heartbeat = setInterval(publishHeartbeat, HEARTBEAT_MS);
    subscriber.subscribe(this.heartbeatChannel).then(publishHeartbeat, ignoreClosed);
  }

  private stopReceiving(): void {
    this.lastHeartbeatAt = -Infinity;
    if (this.closed) return;
    for (const listener of this.listeners.values()) listener.onGap();
  }
}

/**
 * Ignores the error of a failed Redis command. The connection logs its errors itself. Until the connection
 * works again, listeners get no notifications and rely on their periodic checks.
 */
function ignoreClosed(): void {
  // A failed Redis command needs no action, because the Redis connection logs its own errors.
}
