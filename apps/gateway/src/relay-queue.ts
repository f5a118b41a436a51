import { Queue } from 'bullmq';
import { type Logger, queuePrefix, type QueueName, type QueuePayloads, type RedisClient } from '#platform';

const RELAY = 'relay' satisfies QueueName;

/** The queue that wakes the lanes of sends. It shares the gateway's connection and has nothing of its own to close. */
export function openRelayQueue(
  redis: RedisClient,
  prefix: string,
  logger: Logger,
): Queue<QueuePayloads['relay']> {
  const queue = new Queue<QueuePayloads['relay']>(RELAY, {
    connection: redis,
    prefix: queuePrefix(prefix, RELAY),
    skipMetasUpdate: true,
  });
  queue.on('error', (error) => {
    logger.warn({ error: error.message }, 'the relay queue failed');
  });
  return queue;
}
