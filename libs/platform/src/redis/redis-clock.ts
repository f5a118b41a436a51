import type { Clock } from '../time/clock.js';
import { withDeadline } from '../time/deadline.js';
import { logWords } from '../log/logged-error.js';
import type { Logger } from '../log/logger.js';
import type { RedisClient } from './redis-connection.js';
import { redisTime } from './redis-time.js';

/** A machine's clock that is off by more than this is to be set; in milliseconds. */
const MAX_SKEW_MS = 30_000;
const MEASURE_EVERY_MS = 60_000;
const MEASURE_WITHIN_MS = 2_000;
/** A jump of the machine's clock by more than this has it measured at once. */
const JUMP_MS = 1_000;

/**
 * Redis' clock, which all processes share: measured at the start and every minute, and continued in between by the steady
 * clock of this process. So no time that leaves the product depends on how well this machine's own clock is set.
 */
export class RedisClock implements Clock {
  private timer: NodeJS.Timeout | undefined;
  private measuring: Promise<void> | undefined;
  /** One moment by three clocks; until it was measured, Redis' is taken to be that of the machine. */
  private moment = { redis: Date.now(), steady: performance.now(), wall: Date.now() };
  private wasOff = false;

  /** @param key any key: on a Cluster, the clock is that of the master that keeps it */
  constructor(
    private readonly redis: RedisClient,
    private readonly key: string,
    private readonly logger: Logger,
  ) {}

  now(): number {
    const { redis, steady, wall } = this.moment;
    const elapsed = performance.now() - steady;
    // Set, or suspended, while which the steady clock stood still: which of the two, a measurement tells.
    if (Math.abs(Date.now() - wall - elapsed) > JUMP_MS) void this.measure();
    return Math.floor(redis + elapsed);
  }

  /** What is wrong with this machine's clock, in words; undefined if nothing is. */
  get fault(): string | undefined {
    const aheadMs = this.moment.wall - this.moment.redis;
    if (Math.abs(aheadMs) <= MAX_SKEW_MS) return undefined;
    const direction = aheadMs > 0 ? 'ahead of' : 'behind';
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    return `this machine's clock is ${seconds} s ${direction} that of Redis, by which times are told`;
  }

  /** Resolves when it was measured for the first time, or that failed. */
  async start(): Promise<void> {
    await this.measure();
    this.timer = setInterval(() => void this.measure(), MEASURE_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private measure(): Promise<void> {
    this.measuring ??= this.measureOnce().finally(() => {
      this.measuring = undefined;
    });
    return this.measuring;
  }

  private async measureOnce(): Promise<void> {
    const before = performance.now();
    try {
      const redis = await withDeadline(redisTime(this.redis, this.key), MEASURE_WITHIN_MS, 'TIME');
      const steady = performance.now();
      this.moment = { redis: redis + (steady - before) / 2, steady, wall: Date.now() };
    } catch (error) {
      // Redis is away. What was measured last goes on, and is measured again.
      this.logger.debug({ reason: logWords(error) }, 'could not read the time of Redis');
      const { redis, steady } = this.moment;
      const now = performance.now();
      this.moment = { redis: redis + now - steady, steady: now, wall: Date.now() };
      return;
    }
    const { fault } = this;
    if (fault !== undefined && !this.wasOff)
      this.logger.warn(
        { reason: fault },
        'the clocks of this machine and of Redis differ; synchronize the clocks with NTP',
      );
    this.wasOff = fault !== undefined;
  }
}
