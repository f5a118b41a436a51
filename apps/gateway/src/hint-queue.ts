import { Queue } from 'bullmq';
import {
  BullmqHintQueue,
  type Logger,
  queuePrefix,
  type QueueName,
  type QueuePayloads,
  type RedisClient,
  systemClock,
} from '#platform';

/**
 * A queue that wakes workers for what is stored. It shares the gateway's connection and has nothing of its own to close.
 */
export function openHintQueue<Name extends QueueName>(
  name: Name,
  redis: RedisClient,
  prefix: string,
  logger: Logger,
): BullmqHintQueue<QueuePayloads[Name]> {
  const queue = new Queue<QueuePayloads[Name]>(name, {
    connection: redis,
    prefix: queuePrefix(prefix, name),
    skipMetasUpdate: true,
  });
  queue.on('error', (error) => {
    logger.warn({ queue: name, error: error.message }, 'a queue of hints failed');
  });
  return new BullmqHintQueue(queue, systemClock);
}
