/**
 * Names of the queues and the payloads of their jobs. A job only wakes a worker: the state in Redis decides
 * what the worker does.
 */
export interface QueuePayloads {
  /** Wakes a relay worker: this recipient (`lane`) may have a send to relay. */
  relay: { account: string; lane: string };
  /** Wakes a poll worker: this account may have contacts whose poll is due. */
  poll: { account: string };
  /** Wakes a dispatch worker: this webhook may have a due delivery. */
  deliveries: { account: string; endpointId: string };
  /**
   * Jobs that make a role take due tasks from its agenda. Earlier builds use queues of other names for their
   * rounds, so neither build takes the jobs of the other.
   */
  'relay-ticks': Record<string, never>;
  'poll-ticks': Record<string, never>;
  'dispatch-ticks': Record<string, never>;
}

export type QueueName = keyof QueuePayloads;

/**
 * Returns BullMQ's key prefix for one queue. Each queue has its own hash tag, as Redis Cluster requires; the
 * queues therefore spread over the masters.
 */
export function queuePrefix(keyPrefix: string, queue: QueueName): string {
  return `{${keyPrefix}:queue:${queue}}`;
}
