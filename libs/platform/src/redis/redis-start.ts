import { ConfigurationError } from '../environment/configuration-error.js';
import type { Logger } from '../log/logger.js';
import type { RedisAddress } from '../environment/redis-address.js';
import { openRedis, type RedisClient, type RedisBehaviour } from './redis-connection.js';
import { checkRedisRequirements, isReadOnlyReplica } from './redis-requirements.js';

/**
 * Maximum time to wait for the first connection to Redis, in milliseconds. After this time, the process starts
 * without Redis.
 */
const CONNECT_TIMEOUT_MS = 3_000;

/**
 * Opens a connection to Redis and checks the requirements of {@link checkRedisRequirements}, now and after every
 * reconnect. If Redis is unreachable, the connection is retried in the background.
 *
 * @param onUnmetRequirements is called if Redis does not meet the requirements after a later reconnect
 * @throws {ConfigurationError} if Redis does not meet the requirements now
 */
export async function openRedisAndCheckRequirements(
  address: RedisAddress,
  behaviour: RedisBehaviour,
  logger: Logger,
  onUnmetRequirements: (error: ConfigurationError) => void,
): Promise<RedisClient> {
  const logFailure = createRedisConnectionErrorLogger(logger);
  const redis = openRedis(address, behaviour, logFailure);
  await firstConnectionResult(redis);
  if (redis.status === 'ready') {
    try {
      await check(redis, logger, logFailure);
    } catch (error) {
      redis.disconnect();
      throw error;
    }
  } else {
    logger.warn('cannot connect to Redis; the connection is retried in the background');
  }
  redis.on('ready', () => {
    check(redis, logger, logFailure).then((canWrite) => {
      if (canWrite) logger.info('connected to Redis');
    }, onUnmetRequirements);
  });
  return redis;
}

/**
 * Checks the version and settings of Redis. If Redis does not answer, this is logged, and the next reconnect
 * repeats the check. Resolves to false if Redis is a read-only replica.
 * @throws {ConfigurationError} if Redis does not meet the requirements
 */
async function check(
  redis: RedisClient,
  logger: Logger,
  logFailure: (error: Error) => void,
): Promise<boolean> {
  try {
    await checkRedisRequirements(redis);
    if (!(await isReadOnlyReplica(redis))) return true;
    // A process reconnects every second while Redis is a replica, so this is logged only once.
    logFailure(new Error('REDIS_URL points at a read-only replica, which answers READONLY to writes'));
    return false;
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    logger.warn({ err: error }, 'could not check the version and settings of Redis');
    return true;
  }
}

/** Resolves at the first connection, at the first failed attempt to connect, or after a timeout. */
async function firstConnectionResult(redis: RedisClient): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      redis.off('ready', done);
      redis.off('close', done);
      resolve();
    };
    const timer = setTimeout(done, CONNECT_TIMEOUT_MS);
    redis.once('ready', done);
    redis.once('close', done);
  });
}

/**
 * Returns an error handler that logs connection errors. Errors with the same message in a row are logged only
 * once.
 */
export function createRedisConnectionErrorLogger(logger: Logger): (error: Error) => void {
  let last = '';
  return (error) => {
    if (error.message === last) return;
    last = error.message;
    logger.warn({ error: error.message }, 'the connection to Redis failed');
  };
}
