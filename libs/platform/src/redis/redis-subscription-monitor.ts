import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/**
 * Reports that messages of a client's subscriptions may have been lost, because the connection that receives them has
 * ended.
 *
 * A Cluster client subscribes on a connection of its own to one of the nodes. If that connection ends, the client
 * chooses another node, but emits no event. This class therefore observes that connection itself.
 */
export class RedisSubscriptionMonitor {
  private watched: Redis | undefined;

  /** @param onLost called each time the connection ends; the client itself subscribes again */
  constructor(
    private readonly client: RedisClient,
    private readonly onLost: () => void,
  ) {
    client.on('close', onLost);
    // A Cluster client that discovers a node may switch to a different connection for receiving messages. The new
    // connection must then be observed.
    if (client instanceof Cluster)
      client.on('+node', () => {
        setImmediate(() => {
          this.follow();
        });
      });
  }

  /**
   * Starts to observe the connection on which a Cluster client currently receives messages. Call this method after
   * each subscription.
   */
  follow(): void {
    if (!(this.client instanceof Cluster)) return;
    const connection = subscriberOf(this.client);
    if (connection === undefined || connection === this.watched) return;
    this.watched = connection;
    connection.once('end', () => {
      this.onLost();
      this.follow();
    });
  }
}

/** Returns the connection on which a Cluster client receives messages. ioredis does not expose it. */
function subscriberOf(cluster: Cluster): Redis | undefined {
  const { subscriber } = cluster as unknown as { subscriber?: { getInstance?(): Redis | null } };
  return subscriber?.getInstance?.() ?? undefined;
}
