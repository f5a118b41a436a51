/** Every queue: its name, and what a job of it carries. A job is a hint; the state in Redis decides what is done. */
export interface QueuePayloads {
  /** The lane of one recipient may have a send to relay. */
  relay: { account: string; lane: string };
  /** One contact, or the contact list, is due to be read. */
  poll: { account: string; contactId?: string };
  /** One delivery is due. */
  deliveries: { account: string; deliveryId: string };
  /** A round of work that comes again and again: see the worker's schedules. */
  rounds: { round: string };
}

export type QueueName = keyof QueuePayloads;

export const QUEUE_NAMES: readonly QueueName[] = ['relay', 'poll', 'deliveries', 'rounds'];

/**
 * BullMQ's key prefix for one queue. Each queue has a hash tag of its own, as a Redis Cluster asks for,
 * and queues then spread over its masters.
 */
export function queuePrefix(keyPrefix: string, queue: QueueName): string {
  return `{${keyPrefix}:queue:${queue}}`;
}
