/** Names of the queues and the payloads of their jobs. A job is a hint; the state in Redis decides what is done. */
export interface QueuePayloads {
  /** A recipient's lane may have a send to relay. */
  relay: { account: string; lane: string };
  /** An account may have contacts whose poll is due. */
  poll: { account: string };
  /** A webhook may have a delivery that is due. */
  deliveries: { account: string; endpointId: string };
  /**
   * Ticks at which a role takes due tasks from its agenda. Earlier builds use queues of other names for their rounds,
   * so neither build takes the ticks of the other.
   */
  'relay-ticks': Record<string, never>;
  'poll-ticks': Record<string, never>;
  'dispatch-ticks': Record<string, never>;
}

export type QueueName = keyof QueuePayloads;

/**
 * Returns BullMQ's key prefix for one queue. Each queue has its own hash tag, as Redis Cluster requires; the queues
 * therefore spread over the masters.
 */
export function queuePrefix(keyPrefix: string, queue: QueueName): string {
  return `{${keyPrefix}:queue:${queue}}`;
}
