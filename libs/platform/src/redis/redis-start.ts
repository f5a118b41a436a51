import { ConfigurationError } from '../environment/configuration-error.js';
import type { Logger } from '../log/logger.js';
import type { RedisAddress } from '../environment/redis-address.js';
import { openRedis, type RedisClient, type RedisManners } from './redis-connection.js';
import { checkRedisRequirements } from './redis-requirements.js';

/** A Redis that has not answered by then is taken as away for the moment, in milliseconds. */
const ANSWER_WITHIN_MS = 3_000;

/**
 * Opens Redis and checks that it is fit, now if it is there, and again whenever a connection comes about.
 * A Redis that is away is no reason not to start: it is waited for in the background.
 *
 * @param unfit is told of a Redis that turns out unfit later on
 * @throws {ConfigurationError} for an unfit Redis
 */
export async function openFitRedis(
  address: RedisAddress,
  manners: RedisManners,
  logger: Logger,
  unfit: (error: ConfigurationError) => void,
): Promise<RedisClient> {
  const redis = openRedis(address, manners, oncePerFault(logger));
  await firstWord(redis);
  if (redis.status === 'ready') {
    try {
      await check(redis, logger);
    } catch (error) {
      redis.disconnect();
      throw error;
    }
  } else {
    logger.warn('Redis cannot be reached; waiting for it');
  }
  redis.on('ready', () => {
    logger.info('connected to Redis');
    void check(redis, logger).catch(unfit);
  });
  return redis;
}

/** @throws {ConfigurationError}, and nothing else: a Redis that goes away while it is asked is asked again later */
async function check(redis: RedisClient, logger: Logger): Promise<void> {
  try {
    await checkRedisRequirements(redis);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    logger.warn({ err: error }, 'Redis could not be checked');
  }
}

/** Resolves at the first connection, the first failure to connect, or the deadline. */
async function firstWord(redis: RedisClient): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      redis.off('ready', done);
      redis.off('close', done);
      resolve();
    };
    const timer = setTimeout(done, ANSWER_WITHIN_MS);
    redis.once('ready', done);
    redis.once('close', done);
  });
}

/** A connection that is tried again and again fails in the same words: they are logged when they change. */
export function oncePerFault(logger: Logger): (error: Error) => void {
  let last = '';
  return (error) => {
    if (error.message === last) return;
    last = error.message;
    logger.warn({ error: error.message }, 'the connection to Redis failed');
  };
}
