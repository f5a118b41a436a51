import { randomUUID } from 'node:crypto';
import type { EventLog } from '#events';
import { deliveryId } from '../delivery/delivery.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { disabledConflict } from '../endpoint/webhook-conflict.js';

/** An event that was recorded for one endpoint alone, and what carries it there. */
export interface TestStarted {
  eventId: string;
  /** Is there as soon as the event is dispatched. */
  deliveryId: string;
}

/** Sends an endpoint a `webhook.test`, the way that every event goes. */
export class EndpointTest {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly log: Pick<EventLog, 'append' | 'findRevision'>,
  ) {}

  /**
   * Undefined where there is no such endpoint.
   * @throws {WebhookConflictError} for a disabled endpoint
   */
  async start(account: string, id: string): Promise<TestStarted | undefined> {
    const endpoint = await this.endpoints.find(account, id);
    if (endpoint === undefined) return undefined;
    if (!endpoint.enabled) throw disabledConflict('A test would not be delivered');
    // Every test is an event of its own, however many are asked for at one time.
    const revision = randomUUID();
    const subject = `webhook:${id}`;
    await this.log.append(account, [{ type: 'webhook.test', subject, revision, data: { webhookId: id } }]);
    const event = await this.log.findRevision(account, subject, revision);
    if (event === undefined) throw new Error('the test that was just recorded is not kept');
    return { eventId: event.id, deliveryId: deliveryId(event.id, id) };
  }
}
