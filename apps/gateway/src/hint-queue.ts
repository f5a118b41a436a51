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
  let queue: Queue<QueuePayloads[Name]> | undefined;
  const open = (): Queue<QueuePayloads[Name]> => {
    const opened = new Queue<QueuePayloads[Name]>(name, {
      connection: redis,
      prefix: queuePrefix(prefix, name),
      skipMetasUpdate: true,
    });
    opened.on('error', (error) => {
      logger.warn({ queue: name, error: error.message }, 'a queue of hints failed');
    });
    // One that could not be made ready stays so for ever: the next hint gets a new one.
    opened.waitUntilReady().catch(async () => {
      if (queue === opened) queue = undefined;
      await opened.close().catch(() => undefined);
    });
    return opened;
  };
  // Not before the first hint: a gateway that is busy with its start would take Redis for silent.
  return new BullmqHintQueue(() => (queue ??= open()), systemClock);
}
