import type { EventLog } from '#events';
import type { Logger } from '#platform';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import type { DeliveryStore } from '../delivery/delivery-store.js';
import { type Delivery, deliveryId } from '../delivery/delivery.js';
import { tryToWakeWorker } from '../delivery/wake-worker.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import {
  createBacklogFullError,
  createWebhookDisabledError,
  WebhookStateConflictError,
} from '../endpoint/webhook-state-conflict.js';

/** Result of a requested delivery: the delivery, or the information that the endpoint or the event does not exist. */
export type RequestedDelivery =
  { kind: 'due'; delivery: Delivery } | { kind: 'unknownEndpoint' } | { kind: 'unknownEvent' };

/** Delivers single events on request. */
export class SingleEventDeliverer {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly deliveries: Pick<DeliveryStore, 'deliverNow' | 'find'>,
    private readonly log: Pick<EventLog, 'find'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
  ) {}

  /**
   * Delivers an event to an endpoint now: for the first time, or again. The endpoint's filter is ignored, because the
   * caller chose the event. A pending delivery becomes due now; a finished delivery restarts its retry schedule.
   * @throws {WebhookStateConflictError} if the endpoint is disabled, if it has too many pending deliveries, or if it
   * is ordered and this or an earlier event has no delivery yet
   */
  async deliver(account: string, endpointId: string, eventId: string): Promise<RequestedDelivery> {
    const endpoint = await this.endpoints.find(account, endpointId);
    if (endpoint === undefined) return { kind: 'unknownEndpoint' };
    const event = await this.log.find(account, eventId);
    if (event === undefined) return { kind: 'unknownEvent' };
    switch (await this.deliveries.deliverNow(account, { endpointId, event })) {
      case 'removed':
        return { kind: 'unknownEndpoint' };
      case 'lost':
        return { kind: 'unknownEvent' };
      case 'disabled':
        throw createWebhookDisabledError('The event would not be delivered');
      case 'full':
        throw createBacklogFullError();
      case 'waiting':
        throw new WebhookStateConflictError(
          'The webhook is ordered, and this or an earlier event has no delivery yet. If this event matches the filter of the webhook, it is delivered in its turn. Otherwise, request the delivery again later.',
        );
      case 'due': {
        await tryToWakeWorker(this.jobs, this.logger, account, [endpointId]);
        const delivery = await this.deliveries.find(account, deliveryId(eventId, endpointId));
        // If the delivery is missing, the endpoint was removed together with its deliveries after `deliverNow`.
        return delivery === undefined ? { kind: 'unknownEndpoint' } : { kind: 'due', delivery };
      }
    }
  }
}
