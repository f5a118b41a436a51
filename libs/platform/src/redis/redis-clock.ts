import type { Clock } from '../time/clock.js';
import { withDeadline } from '../time/deadline.js';
import { logMessageOf } from '../log/logged-error.js';
import type { Logger } from '../log/logger.js';
import type { RedisClient } from './redis-connection.js';
import { redisTime } from './redis-time.js';

/** Maximum tolerated difference between the machine's clock and Redis' clock, in milliseconds. */
const MAX_SKEW_MS = 30_000;
const MEASURE_EVERY_MS = 60_000;
const MEASURE_WITHIN_MS = 2_000;
/** Minimum jump of the machine's clock that triggers a measurement at once, in milliseconds. */
const JUMP_MS = 1_000;

/**
 * Redis' clock, which all processes share. It is measured at start and every minute. Between measurements, the steady
 * clock of this process continues it. So no published time depends on this machine's own clock.
 */
export class RedisClock implements Clock {
  private timer: NodeJS.Timeout | undefined;
  private measuring: Promise<void> | undefined;
  /** The same moment by three clocks. Before the first measurement, Redis' clock is assumed to equal the machine's. */
  private moment = { redis: Date.now(), steady: performance.now(), wall: Date.now() };
  private hadFault = false;

  /** @param key any key: on a Cluster, the clock is that of the master that holds this key */
  constructor(
    private readonly redis: RedisClient,
    private readonly key: string,
    private readonly logger: Logger,
  ) {}

  now(): number {
    const { redis, steady, wall } = this.moment;
    const elapsed = performance.now() - steady;
    // Either the machine's clock was set, or the machine was suspended and its steady clock stood still. A
    // measurement corrects both.
    if (Math.abs(Date.now() - wall - elapsed) > JUMP_MS) void this.measure();
    return Math.floor(redis + elapsed);
  }

  /** Description of the fault of this machine's clock; undefined if there is none. */
  get fault(): string | undefined {
    const aheadMs = this.moment.wall - this.moment.redis;
    if (Math.abs(aheadMs) <= MAX_SKEW_MS) return undefined;
    const direction = aheadMs > 0 ? 'ahead of' : 'behind';
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    return `this machine's clock is ${seconds} s ${direction} Redis' clock`;
  }

  /** Measures the clock for the first time. Resolves even if the measurement fails. */
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
      // Redis is away: the last measurement continues until the next one succeeds.
      this.logger.debug({ reason: logMessageOf(error) }, 'could not read the time of Redis');
      const { redis, steady } = this.moment;
      const now = performance.now();
      this.moment = { redis: redis + now - steady, steady: now, wall: Date.now() };
      return;
    }
    const { fault } = this;
    if (fault !== undefined && !this.hadFault)
      this.logger.warn(
        { reason: fault },
        'the clocks of this machine and of Redis differ; synchronize the clocks with NTP',
      );
    this.hadFault = fault !== undefined;
  }
}
