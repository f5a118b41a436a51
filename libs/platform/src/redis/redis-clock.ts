import type { Clock } from '../time/clock.js';
import { withDeadline } from '../time/deadline.js';
import { logMessageOf } from '../log/logged-error.js';
import type { Logger } from '../log/logger.js';
import type { RedisClient } from './redis-connection.js';
import { readRedisTime } from './redis-time.js';

/** Maximum tolerated difference between the machine's clock and Redis' clock, in milliseconds. */
const MAX_SKEW_MS = 30_000;
const MEASURE_EVERY_MS = 10_000;
const MEASURE_WITHIN_MS = 2_000;
/** Time from a failed measurement to the next one, in milliseconds. */
const RETRY_AFTER_MS = 1_000;
/**
 * If Redis' clock was set back by more than this time since the last measurement, in milliseconds, this is logged.
 */
const SET_BACK_MS = 10_000;
/** If the machine's clock jumps by more than this time, in milliseconds, Redis' clock is read at once. */
const JUMP_MS = 1_000;

/**
 * Redis' clock, which all processes share. This process reads the clock at start, every ten seconds, after a
 * reconnection, and when the machine's clock jumps. While Redis does not answer, the process retries every second. Between two reads, the time that has
 * passed on the steady clock of the process is added. The result thus does not depend on whether this machine's clock
 * is set correctly.
 */
export class RedisClock implements Clock {
  private timer: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private measuring: Promise<void> | undefined;
  /** True while Redis has not answered a read of its clock, even if the measurement has failed meanwhile. */
  private isReading = false;
  /**
   * Times that three clocks showed when Redis' clock was last read, in milliseconds. Until Redis' clock is first
   * read, it is assumed to equal the machine's wall clock.
   */
  private moment = { redis: Date.now(), steady: performance.now(), wall: Date.now() };
  private hadFault = false;
  private hasMeasured = false;
  /** After a reconnection, for example to another server at a failover, Redis' clock is read at once. */
  private readonly onReady = (): void => void this.measure();

  /** @param key any key: on a Redis Cluster, the clock of the master that holds this key is read */
  constructor(
    private readonly redis: RedisClient,
    private readonly key: string,
    private readonly logger: Logger,
  ) {}

  now(): number {
    const { redis, steady, wall } = this.moment;
    const elapsed = performance.now() - steady;
    // If the wall clock and the steady clock have advanced differently since Redis' clock was last read, it is read
    // again: either the wall clock was set, or the machine was suspended and the steady clock stood still.
    if (Math.abs(Date.now() - wall - elapsed) > JUMP_MS) void this.measure();
    return Math.floor(redis + elapsed);
  }

  /**
   * By how much this machine's clock was ahead of Redis' clock at the last measurement, in milliseconds. Negative if
   * it was behind.
   */
  get differenceMs(): number {
    return this.moment.wall - this.moment.redis;
  }

  /**
   * Says by how much this machine's clock differs from Redis' clock; undefined if the difference is
   * tolerable.
   */
  get fault(): string | undefined {
    const aheadMs = this.differenceMs;
    if (Math.abs(aheadMs) <= MAX_SKEW_MS) return undefined;
    const direction = aheadMs > 0 ? 'ahead of' : 'behind';
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    return `this machine's clock is ${seconds} s ${direction} Redis' clock`;
  }

  /**
   * Reads Redis' clock for the first time, and starts the regular measurements. Resolves even if the first
   * measurement fails.
   */
  async start(): Promise<void> {
    this.timer = setInterval(() => void this.measure(), MEASURE_EVERY_MS).unref();
    this.redis.on('ready', this.onReady);
    await this.measure();
  }

  stop(): void {
    this.redis.off('ready', this.onReady);
    clearInterval(this.timer);
    clearTimeout(this.retry);
    this.timer = undefined;
  }

  private measure(): Promise<void> {
    this.measuring ??= this.measureOnce().finally(() => {
      this.measuring = undefined;
    });
    return this.measuring;
  }

  /**
   * Logs a warning if Redis' clock shows a time that is more than {@link SET_BACK_MS} earlier than was expected from
   * the last measurement.
   */
  private warnIfSetBack(now: number, steady: number): void {
    const backMs = this.moment.redis + steady - this.moment.steady - now;
    if (this.hasMeasured && backMs > SET_BACK_MS)
      this.logger.warn(
        { seconds: Math.round(backMs / 1_000) },
        'the clock of Redis was set back, or Redis failed over to a machine whose clock is behind; synchronize the clocks with NTP',
      );
    this.hasMeasured = true;
  }

  /** Reads Redis' clock. @throws {Error} if Redis has not answered the previous read */
  private async readTime(): Promise<number> {
    // While Redis is unreachable, a `patient` connection keeps each command in memory, so only one command is sent.
    if (this.isReading) throw new Error('Redis has not answered the previous read of its clock');
    this.isReading = true;
    try {
      return await readRedisTime(this.redis, this.key);
    } finally {
      this.isReading = false;
    }
  }

  private async measureOnce(): Promise<void> {
    const before = performance.now();
    try {
      const redis = await withDeadline(this.readTime(), MEASURE_WITHIN_MS, 'TIME');
      const steady = performance.now();
      const now = redis + (steady - before) / 2;
      this.warnIfSetBack(now, steady);
      this.moment = { redis: now, steady, wall: Date.now() };
    } catch (error) {
      // Redis is unreachable. Until a measurement succeeds, Redis' time is computed from the steady clock.
      this.logger.debug({ reason: logMessageOf(error) }, 'could not read the time of Redis');
      const { redis, steady } = this.moment;
      const now = performance.now();
      this.moment = { redis: redis + now - steady, steady: now, wall: Date.now() };
      clearTimeout(this.retry);
      if (this.timer !== undefined)
        this.retry = setTimeout(() => void this.measure(), RETRY_AFTER_MS).unref();
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
