import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from '../log/logger.js';
import type { RedisClient } from './redis-connection.js';
import { RedisHeartbeat } from './redis-heartbeat.js';

/** A heartbeat whose writes end only when the test calls `end`. */
class SlowHeartbeat extends RedisHeartbeat {
  writes = 0;
  end: () => void = () => undefined;

  protected override beat(): Promise<void> {
    this.writes += 1;
    return new Promise((resolve) => {
      this.end = resolve;
    });
  }
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('a process writes no further heartbeat while Redis does not answer the last one', async () => {
  const redis = { status: 'end' } as unknown as RedisClient;
  const heartbeat = new SlowHeartbeat(redis, 'alive', 'gateway', createLogger('gateway', 'silent'));
  heartbeat.start();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(heartbeat.writes).toBe(1);
  heartbeat.end();
  await jest.advanceTimersByTimeAsync(3_000);
  expect(heartbeat.writes).toBe(2);
  await heartbeat.stop();
});
