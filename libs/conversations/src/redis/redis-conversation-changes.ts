import { accountKeys, closeRedis, type RedisClient } from '#platform';
import type {
  ChangeListener,
  ConversationChanges,
  SendStatusNotice,
} from '../changes/conversation-changes.js';
import { channelOfConversationChanges } from './redis-row-keys.js';

/**
 * Implements {@link ConversationChanges} with Redis publish/subscribe: the scripts that change rows and sends publish.
 * One connection serves all accounts. It is opened for the first listener.
 */
export class RedisConversationChanges implements ConversationChanges {
  private readonly listeners = new Map<string, Set<ChangeListener>>();
  private subscriber: RedisClient | undefined;
  private isClosed = false;

  /** @param open opens a connection that reconnects whenever Redis was unreachable; {@link close} closes it */
  constructor(
    private readonly open: () => RedisClient,
    private readonly prefix: string,
  ) {}

  async follow(account: string, listener: ChangeListener): Promise<() => void> {
    const channel = channelOfConversationChanges(accountKeys(this.prefix, account));
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners.add(listener));
    try {
      // Subscribing again does no harm, and waits until an earlier subscription is confirmed.
      await this.connection().subscribe(channel);
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
    // Until Redis has ended the subscription, further messages find no listener.
    if (!this.isClosed) this.connection().unsubscribe(channel).catch(ignoreUnreachable);
  }

  private connection(): RedisClient {
    if (this.subscriber !== undefined) return this.subscriber;
    this.subscriber = this.open();
    this.subscriber.on('message', (channel: string, text: string) => {
      for (const listener of this.listeners.get(channel) ?? []) report(text, listener);
    });
    this.subscriber.on('close', () => {
      for (const listeners of this.listeners.values())
        for (const listener of listeners) listener.interrupted();
    });
    return this.subscriber;
  }
}

/** Reports a published text: `row` and the id of a row, or `send` and a notice as JSON. */
function report(text: string, listener: ChangeListener): void {
  const end = text.indexOf(' ');
  const rest = text.slice(end + 1);
  if (text.startsWith('row ')) listener.rowChanged(rest);
  else if (text.startsWith('send ')) listener.sendChanged(JSON.parse(rest) as SendStatusNotice);
}

/** The connection logs its errors itself, and subscribes to what is left when it works again. */
function ignoreUnreachable(): void {
  // The error is ignored on purpose.
}
