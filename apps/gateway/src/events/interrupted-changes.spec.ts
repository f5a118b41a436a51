import { expect, it } from '@jest/globals';
import type { Principal } from '#accounts';
import type { ChangeListener, ConversationChanges, Conversations } from '#conversations';
import { createLogger } from '#platform';
import type { ContactAccess } from '../auth/contact-access.js';
import type { ConversationReads } from '../conversations/conversation-reads.js';
import { LiveChanges, LiveQueue } from './live-changes.js';

/** Changes of conversations whose subscriptions the test starts, fails and interrupts. */
class FakeChanges implements ConversationChanges {
  readonly subscriptions: { listener: ChangeListener; isStopped: boolean }[] = [];
  fault: Error | undefined;

  follow(_: string, listener: ChangeListener): Promise<() => void> {
    const subscription = { listener, isStopped: false };
    this.subscriptions.push(subscription);
    return this.fault === undefined
      ? Promise.resolve(() => {
          subscription.isStopped = true;
        })
      : Promise.reject(this.fault);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const caller: Principal = { keyId: 'key_1', account: 'default', scopes: new Set(['events:read']) };
const changes = new FakeChanges();
const live = new LiveChanges(
  changes,
  {} as Conversations,
  {} as ConversationReads,
  {} as ContactAccess,
  createLogger('test', 'silent'),
);
const newQueue = (): LiveQueue => new LiveQueue(caller, new Set(['conversation.updated']));

it('a new event stream creates a new Redis subscription if the previous subscription was lost, even while an older stream is still open', async () => {
  const older = newQueue();
  const { ready, leave } = live.follow(older);
  await ready;
  changes.subscriptions[0]?.listener.interrupted();
  expect(older.isBroken).toBe(true);

  const newer = newQueue();
  const second = live.follow(newer);
  expect(changes.subscriptions).toHaveLength(2);
  await second.ready;
  leave();
  await Promise.resolve();
  expect(changes.subscriptions.map(({ isStopped }) => isStopped)).toEqual([true, false]);

  changes.subscriptions[1]?.listener.interrupted();
  expect(newer.isBroken).toBe(true);
  second.leave();
});

it('a new event stream creates a new Redis subscription if the previous attempt to subscribe failed, even while an older stream is still open', async () => {
  const count = changes.subscriptions.length;
  changes.fault = new Error('Redis was away');
  const older = live.follow(newQueue());
  await expect(older.ready).rejects.toThrow('Redis was away');
  changes.fault = undefined;
  const newer = live.follow(newQueue());
  await newer.ready;
  expect(changes.subscriptions).toHaveLength(count + 2);
  older.leave();
  newer.leave();
});
