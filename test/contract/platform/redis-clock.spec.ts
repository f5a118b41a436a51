import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import {
  closeRedis,
  createLogger,
  openRedis,
  parseRedisAddress,
  RedisClock,
  type RedisClient,
  readRedisTime,
} from '#platform';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const MINUTE_MS = 60_000;
const KEY = 'any';

let server: TestRedis;
let redis: RedisClient;
let clock: RedisClock;
let lines: string[];
const wallNow = Date.now.bind(Date);

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
  await once(redis, 'ready');
  lines = [];
  const logger = createLogger('test', 'info', { write: (line: string) => lines.push(line) });
  clock = new RedisClock(redis, KEY, logger);
});
afterEach(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  clock.stop();
  await closeRedis(redis);
});

/** Sets this machine's clock from now on. */
function setWall(aheadMs: number): void {
  jest.spyOn(Date, 'now').mockImplementation(() => wallNow() + aheadMs);
}

const offMs = async (): Promise<number> => Math.abs(clock.now() - (await readRedisTime(redis, KEY)));

describe("the estimate of Redis' time", () => {
  it.each([20 * MINUTE_MS, -20 * MINUTE_MS])(
    'is right on a machine whose own clock is off by %d ms, and the fault is reported',
    async (aheadMs) => {
      setWall(aheadMs);
      await clock.start();
      expect(await offMs()).toBeLessThan(1_000);
      expect(clock.fault).toMatch(aheadMs > 0 ? /1200 s ahead of/ : /1200 s behind/);
      expect(
        lines.filter((line) => line.includes('the clocks of this machine and of Redis differ')),
      ).toHaveLength(1);
    },
  );

  it('is right on a machine whose own clock is right, and no fault is reported', async () => {
    await clock.start();
    expect(await offMs()).toBeLessThan(1_000);
    expect(clock.fault).toBeUndefined();
    expect(lines).toEqual([]);
  });

  it('stays right when the clock of the machine is set to another time', async () => {
    setWall(20 * MINUTE_MS);
    await clock.start();
    setWall(0);
    expect(await offMs()).toBeLessThan(1_000);
    await eventually('the clock is measured', () => clock.fault === undefined);
    expect(await offMs()).toBeLessThan(1_000);
  });

  it('becomes right again soon after the machine was suspended, because the time is measured repeatedly', async () => {
    await clock.start();
    const steady = performance.now.bind(performance);
    // The steady clock stood still for a minute; Redis' clock and the wall clock did not.
    jest.spyOn(performance, 'now').mockImplementation(() => steady() - MINUTE_MS);
    await eventually('the clock is measured', async () => (await offMs()) < 1_000);
    expect(clock.fault).toBeUndefined();
  });

  it('becomes right a few seconds after Redis answers for the first time', async () => {
    setWall(20 * MINUTE_MS);
    clock = new RedisClock(redis, KEY, createLogger('test', 'silent'));
    const ended = once(redis, 'end');
    redis.disconnect();
    await ended;
    await clock.start();
    await redis.connect();
    await eventually('the clock is measured', async () => (await offMs()) < 1_000, 15_000);
    expect(clock.fault).toMatch(/1200 s ahead of/);
  });

  it('needs only one pending command while Redis does not answer, and ignores the late answer', async () => {
    let answer = (): void => undefined;
    const late = new Promise<string>((resolve) => {
      answer = () => {
        resolve('0');
      };
    });
    const calls = jest.spyOn(redis, 'call').mockReturnValue(late);
    jest.useFakeTimers({ doNotFake: ['Date', 'performance', 'nextTick', 'setImmediate'] });
    const started = clock.start();
    await jest.advanceTimersByTimeAsync(10 * MINUTE_MS);
    await started;
    expect(calls).toHaveBeenCalledTimes(1);
    calls.mockRestore();
    answer();
    await jest.advanceTimersByTimeAsync(1_000);
    jest.useRealTimers();
    await eventually('the clock is measured', async () => (await offMs()) < 1_000);
  });

  it('becomes right soon after the connection leads to another server; if the clock of that server is behind the clock of the former server, this is logged', async () => {
    await clock.start();
    // The former server's clock was ahead by 20 minutes.
    const time = await readRedisTime(redis, KEY);
    const at = time + 20 * MINUTE_MS;
    const former = jest.spyOn(redis, 'call').mockResolvedValue(String(at));
    redis.emit('ready');
    await eventually('the former clock is known', () => clock.now() - time > 19 * MINUTE_MS);
    former.mockRestore();
    redis.emit('ready');
    await eventually('the clock is measured', async () => (await offMs()) < 1_000, 5_000);
    expect(lines.filter((line) => line.includes('the clock of Redis was set back'))).toHaveLength(1);
  });

  it('equals the clock of the machine until Redis has answered', async () => {
    redis.disconnect();
    await clock.start();
    expect(Math.abs(clock.now() - wallNow())).toBeLessThan(1_000);
    expect(clock.fault).toBeUndefined();
  });
});
