/** Every queue: its name, and what a job of it carries. A job is a hint; the state in Redis decides what is done. */
export interface QueuePayloads {
  /** The lane of one recipient may have a send to relay. */
  relay: { account: string; lane: string };
  /** An account may have contacts that are due to be read. */
  poll: { account: string };
  /** An endpoint may have a delivery that is due. */
  deliveries: { account: string; endpointId: string };
  /**
   * The ticks at which a role takes what is due from its agenda; see the worker's rounds. Earlier builds have rounds
   * over all accounts in queues of other names: neither takes the other's ticks.
   */
  'relay-ticks': Record<string, never>;
  'poll-ticks': Record<string, never>;
  'dispatch-ticks': Record<string, never>;
}

export type QueueName = keyof QueuePayloads;

/**
 * BullMQ's key prefix for one queue. Each queue has a hash tag of its own, as a Redis Cluster asks for,
 * and queues then spread over its masters.
 */
export function queuePrefix(keyPrefix: string, queue: QueueName): string {
  return `{${keyPrefix}:queue:${queue}}`;
}
