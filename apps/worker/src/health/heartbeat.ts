import { hostname } from 'node:os';
import { type Logger, newId, type RedisClient, RedisScript, workerName, type WorkerRole } from '#platform';

const BEAT_EVERY_MS = 5_000;
/** A worker that was not heard of for so long is forgotten. */
const FORGOTTEN_AFTER_MS = 3_600_000;

/** KEYS: workers. ARGV: name, forgotten after. By Redis' clock. */
const beat = new RedisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%d', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now - ARGV[2]))
return now
`);

/**
 * Tells the others, in the sorted set `{prefix}:workers`, that this worker is alive and which roles it has, and the log when
 * a new installation begins: there is nothing in Redis, perhaps not any more.
 */
export class Heartbeat {
  private readonly name: string;
  private readonly key: string;
  private readonly installationKey: string;
  private timer: NodeJS.Timeout | undefined;
  private beatenAt = -Infinity;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    roles: readonly WorkerRole[],
    private readonly logger: Logger,
  ) {
    this.name = workerName(`${hostname()}-${newId('req')}`, roles);
    this.key = `${prefix}:workers`;
    this.installationKey = `${prefix}:installation`;
  }

  start(): void {
    const once = (): void => {
      this.beat().catch((error: unknown) => {
        this.logger.warn({ err: error }, 'the heartbeat could not be written');
      });
    };
    once();
    this.timer = setInterval(once, BEAT_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.beatenAt = -Infinity;
    if (this.redis.status === 'ready') await this.redis.zrem(this.key, this.name);
  }

  /** Whether Redis could be written lately. */
  isFresh(): boolean {
    return performance.now() - this.beatenAt < 3 * BEAT_EVERY_MS;
  }

  private async beat(): Promise<void> {
    if (this.redis.status !== 'ready') return;
    await beat.run(this.redis, [this.key], [this.name, FORGOTTEN_AFTER_MS]);
    this.beatenAt = performance.now();
    const isNew = await this.redis.set(this.installationKey, new Date().toISOString(), 'NX');
    if (isNew !== null) this.logger.warn('a new installation begins: Redis holds nothing of an earlier one');
  }
}
