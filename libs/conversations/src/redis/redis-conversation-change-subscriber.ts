import { accountKeys, closeRedis, type RedisClient, RedisSubscriptionMonitor } from '#platform';
import type {
  ChangeListener,
  ConversationChanges,
  SendStatusNotice,
} from '../changes/conversation-changes.js';
import { channelOfConversationChanges } from './redis-row-keys.js';

/**
 * Implements {@link ConversationChanges} with Redis publish/subscribe. The Lua scripts that change conversation rows
 * and sends publish the changes. One connection serves all accounts; it is opened for the first listener.
 */
export class RedisConversationChangeSubscriber implements ConversationChanges {
  private readonly listeners = new Map<string, Set<ChangeListener>>();
  private subscriber: RedisClient | undefined;
  private watch: RedisSubscriptionMonitor | undefined;
  private isClosed = false;

  /** @param open opens a connection that reconnects automatically; {@link close} closes the connection */
  constructor(
    private readonly open: () => RedisClient,
    private readonly prefix: string,
  ) {}

  async follow(account: string, listener: ChangeListener): Promise<() => void> {
    const channel = channelOfConversationChanges(accountKeys(this.prefix, account));
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners.add(listener));
    try {
      // If the connection has already subscribed to the channel, this call only waits until Redis has confirmed the
      // earlier subscription.
      await this.connection().subscribe(channel);
      this.watch?.follow();
    } catch (error) {
      this.remove(channel, listener);
      throw error;
    }
    return () => {
      this.remove(channel, listener);
    };
  }

  async close(): Promise<void> {
    this.isClosed = true;
    if (this.subscriber !== undefined) await closeRedis(this.subscriber);
  }

  private remove(channel: string, listener: ChangeListener): void {
    const listeners = this.listeners.get(channel);
    listeners?.delete(listener);
    if (listeners?.size !== 0) return;
    this.listeners.delete(channel);
    // Notifications that arrive before Redis ends the subscription are ignored, because the channel has no listener.
    if (!this.isClosed) this.connection().unsubscribe(channel).catch(ignoreUnreachable);
  }

  private connection(): RedisClient {
    if (this.subscriber !== undefined) return this.subscriber;
    this.subscriber = this.open();
    this.subscriber.on('message', (channel: string, text: string) => {
      for (const listener of this.listeners.get(channel) ?? []) report(text, listener);
    });
    this.watch = new RedisSubscriptionMonitor(this.subscriber, () => {
      for (const listeners of this.listeners.values())
        for (const listener of listeners) listener.interrupted();
    });
    return this.subscriber;
  }
}

/**
 * Reports a change to a listener. `text` is either `row`, a space and the id of a conversation row, or `send`, a
 * space and a `SendStatusNotice` as JSON.
 */
function report(text: string, listener: ChangeListener): void {
  const end = text.indexOf(' ');
  const rest = text.slice(end + 1);
  if (text.startsWith('row ')) listener.rowChanged(rest);
  else if (text.startsWith('send ')) listener.sendChanged(JSON.parse(rest) as SendStatusNotice);
}

function ignoreUnreachable(): void {
  // Nothing to do if Redis is unreachable: the connection logs its errors itself, and reconnects.
}
