import {
  type Instance,
  instancesKey,
  type Logger,
  memberOf,
  type RedisClient,
  RedisHeartbeat,
  type WorkerRole,
} from '#platform';

/**
 * Tells the others that this worker is alive, of which version it is and which roles it has, and the log when a new
 * installation begins: there is nothing in Redis, perhaps not any more.
 */
export class Heartbeat extends RedisHeartbeat {
  private readonly installationKey: string;

  constructor(
    redis: RedisClient,
    prefix: string,
    instance: Instance,
    roles: readonly WorkerRole[],
    logger: Logger,
  ) {
    super(redis, instancesKey(prefix, 'workers'), memberOf(instance, roles), logger);
    this.installationKey = `${prefix}:installation`;
  }

  protected override async beat(): Promise<void> {
    if (this.redis.status !== 'ready') return;
    await super.beat();
    const isNew = await this.redis.set(this.installationKey, new Date().toISOString(), 'NX');
    if (isNew !== null) this.logger.warn('a new installation begins: Redis holds nothing of an earlier one');
  }
}
