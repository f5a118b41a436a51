import { randomUUID } from 'node:crypto';
import type { EventLog } from '#events';
import { deliveryId } from '../delivery/delivery.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { createWebhookDisabledError } from '../endpoint/webhook-state-conflict.js';

/** The ids of a test event and of its delivery. */
export interface StartedTest {
  eventId: string;
  /** Id of the delivery. The delivery is created shortly after the event is recorded. */
  deliveryId: string;
}

/**
 * Sends a `webhook.test` event to one endpoint. The event is recorded in the event log and delivered like any other
 * event.
 */
export class TestEventSender {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly log: Pick<EventLog, 'append' | 'findRevision'>,
  ) {}

  /**
   * Records a test event for an endpoint. Returns undefined if the endpoint does not exist.
   * @throws {WebhookStateConflictError} if the endpoint is disabled
   */
  async start(account: string, id: string): Promise<StartedTest | undefined> {
    const endpoint = await this.endpoints.find(account, id);
    if (endpoint === undefined) return undefined;
    if (!endpoint.enabled) throw createWebhookDisabledError('A test would not be delivered');
    // The id of an event is a hash that depends on the event's revision. A random revision gives each test event its
    // own id.
    const revision = randomUUID();
    const subject = `webhook:${id}`;
    await this.log.append(account, [{ type: 'webhook.test', subject, revision, data: { webhookId: id } }]);
    const event = await this.log.findRevision(account, subject, revision);
    if (event === undefined) throw new Error('the log does not hold the test event that was just recorded');
    return { eventId: event.id, deliveryId: deliveryId(event.id, id) };
  }
}
