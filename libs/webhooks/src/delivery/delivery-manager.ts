import type { Logger } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';
import type { DeliveryPage, DeliveryQuery, DeliveryStore } from './delivery-store.js';
import type { Delivery } from './delivery.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { tryToWakeWorker } from './wake-worker.js';
import {
  createBacklogFullError,
  createWebhookDisabledError,
  WebhookStateConflictError,
} from '../endpoint/webhook-state-conflict.js';

/** The operations on deliveries that the API offers to callers: find, list and retry. */
export class DeliveryManager {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly store: Pick<DeliveryStore, 'find' | 'list' | 'listAll' | 'retry'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
  ) {}

  /** Returns a delivery, or undefined if the delivery does not exist. */
  find(account: string, id: string): Promise<Delivery | undefined> {
    return this.store.find(account, id);
  }

  /** Lists the deliveries of an endpoint, newest first. Returns undefined if the endpoint does not exist. */
  async list(account: string, endpointId: string, query: DeliveryQuery): Promise<DeliveryPage | undefined> {
    if ((await this.endpoints.find(account, endpointId)) === undefined) return undefined;
    return this.store.list(account, endpointId, query);
  }

  /**
   * Lists the deliveries of all endpoints, newest first.
   */
  listAll(account: string, query: DeliveryQuery): Promise<DeliveryPage> {
    return this.store.listAll(account, query);
  }

  /**
   * Makes a delivery due now. At an ordered endpoint, the delivery is due only when no earlier event of the same
   * contact has a pending delivery. A finished delivery becomes pending again, and starts its retry schedule from the
   * beginning. Returns undefined if the delivery does not exist.
   * @throws {WebhookStateConflictError} if the webhook is disabled or removed; or, for a finished delivery, if the
   * event log no longer contains the event, or if the webhook has the maximum number of pending deliveries
   */
  async retry(account: string, id: string): Promise<Delivery | undefined> {
    const delivery = await this.store.find(account, id);
    if (delivery === undefined) return undefined;
    switch (await this.store.retry(account, id)) {
      case 'unknown':
        return undefined;
      case 'lost':
        throw new WebhookStateConflictError(
          `The event ${delivery.eventId} was removed from the log, so it cannot be delivered.`,
        );
      case 'full':
        throw createBacklogFullError();
      case 'disabled':
        throw createWebhookDisabledError('The event would not be delivered');
      case 'removed':
        throw new WebhookStateConflictError('The webhook of this delivery was removed.');
      case 'retried':
        await tryToWakeWorker(this.jobs, this.logger, account, [delivery.endpointId]);
        return this.store.find(account, id);
    }
  }
}
