import {
  type ProcessInstance,
  heartbeatSetRedisKey,
  type Logger,
  formatProcessInstance,
  type RedisClient,
  RedisHeartbeat,
  type WorkerRole,
} from '#platform';

/**
 * Writes to Redis that this worker is alive, with its version and its roles. Logs a new installation if Redis
 * contains none: at the first start, or after a loss of all data.
 */
export class Heartbeat extends RedisHeartbeat {
  private readonly installationKey: string;

  constructor(
    redis: RedisClient,
    prefix: string,
    instance: ProcessInstance,
    roles: readonly WorkerRole[],
    logger: Logger,
  ) {
    super(redis, heartbeatSetRedisKey(prefix, 'workers'), formatProcessInstance(instance, roles), logger);
    this.installationKey = `${prefix}:installation`;
  }

  protected override async beat(): Promise<void> {
    if (this.redis.status !== 'ready') return;
    await super.beat();
    const isNew = await this.redis.set(this.installationKey, new Date().toISOString(), 'NX');
    if (isNew !== null)
      this.logger.warn(
        'starting a new installation, because Redis has no data of an earlier one; if this is not the first start, check REDIS_URL and REDIS_KEY_PREFIX, and whether Redis lost its data',
      );
  }
}
