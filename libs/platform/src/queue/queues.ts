/**
 * Maps the name of each queue to the payload of its jobs. A job only wakes a worker. What the worker does
 * then depends on the state in Redis.
 */
export interface QueuePayloads {
  /**
   * Wakes a relay worker: these recipients (`lane` and those in `more`) may have a send to relay. A worker of an
   * earlier build ignores `more`, and finds the sends of those recipients at its next check for lost jobs.
   */
  relay: { account: string; lane: string; more?: string[] };
  /** Wakes a poll worker: this account may have contacts whose poll is due. */
  poll: { account: string };
  /** Wakes a dispatch worker: this webhook may have a due delivery. */
  deliveries: { account: string; endpointId: string };
}

export type QueueName = keyof QueuePayloads;

/**
 * Returns BullMQ's key prefix for one queue. Each queue has its own hash tag, because Redis Cluster requires
 * all keys of a queue in one slot. Different queues are spread over the masters.
 */
export function queueRedisKeyPrefix(keyPrefix: string, queue: QueueName): string {
  return `{${keyPrefix}:queue:${queue}}`;
}
