import { Queue } from 'bullmq';
import {
  BullmqHintQueue,
  type Logger,
  queueRedisKeyPrefix,
  type QueueName,
  type QueuePayloads,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';

/**
 * Opens a queue of hints, which wake workers for work that is already stored in Redis. The queue uses the Redis
 * connection of the gateway, so that the caller need not close the queue.
 */
export function openHintQueue<Name extends QueueName>(
  name: Name,
  redis: RedisClient,
  prefix: string,
  logger: Logger,
): BullmqHintQueue<QueuePayloads[Name]> {
  let queue: Queue<QueuePayloads[Name]> | undefined;
  const open = (): Queue<QueuePayloads[Name]> => {
    const opened = new Queue<QueuePayloads[Name]>(name, {
      connection: redis,
      prefix: queueRedisKeyPrefix(prefix, name),
      skipMetasUpdate: true,
    });
    opened.on('error', (error) => {
      logger.warn(
        { queue: name, error: error.message },
        'the BullMQ queue of wake-up jobs reported an error; if a wake-up job is lost, workers find the stored work a few seconds later',
      );
    });
    // A queue that fails to become ready never recovers, so the next hint opens a new queue.
    opened.waitUntilReady().catch(async () => {
      if (queue === opened) queue = undefined;
      await opened.close().catch(() => undefined);
    });
    return opened;
  };
  // Opened with the first hint: while the gateway is busy starting, the readiness check of the queue could time out.
  return new BullmqHintQueue(() => (queue ??= open()), clockOfThisMachine);
}
