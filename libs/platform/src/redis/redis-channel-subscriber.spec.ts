import { EventEmitter } from 'node:events';
import { afterEach, expect, it, jest } from '@jest/globals';
import { RedisChannelSubscriber } from './redis-channel-subscriber.js';
import type { RedisClient } from './redis-connection.js';

afterEach(() => {
  jest.useRealTimers();
});

it('a process publishes no second heartbeat to itself while Redis does not answer the first', async () => {
  jest.useFakeTimers();
  const subscriber = Object.assign(new EventEmitter(), { subscribe: () => Promise.resolve(1) });
  const publish = jest.fn(() => new Promise(() => undefined));
  const channels = new RedisChannelSubscriber(() => subscriber as unknown as RedisClient, 'tidings', {
    publish,
  } as unknown as RedisClient);
  channels.subscribe('channel', { onMessage: () => undefined, onGap: () => undefined });
  await jest.advanceTimersByTimeAsync(600_000);
  expect(publish).toHaveBeenCalledTimes(1);
});
