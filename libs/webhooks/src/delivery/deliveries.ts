import type { Logger } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';
import type { DeliveryPage, DeliveryQuery, DeliveryStore } from './delivery-store.js';
import type { Delivery } from './delivery.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { hintQuietly } from './hint-quietly.js';
import { disabledConflict, WebhookConflictError } from '../endpoint/webhook-conflict.js';

/** What subscribers can see of their deliveries, and do about one. */
export class Deliveries {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'find'>,
    private readonly store: Pick<DeliveryStore, 'find' | 'list' | 'retry'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
  ) {}

  find(account: string, id: string): Promise<Delivery | undefined> {
    return this.store.find(account, id);
  }

  /** Those of an endpoint, the newest first, or undefined where there is no such endpoint. */
  async list(account: string, endpointId: string, query: DeliveryQuery): Promise<DeliveryPage | undefined> {
    if ((await this.endpoints.find(account, endpointId)) === undefined) return undefined;
    return this.store.list(account, endpointId, query);
  }

  /**
   * Has a delivery tried now: a finished one again, its schedule from the start; a pending one before its time. Undefined
   * where there is no such delivery.
   * @throws {WebhookConflictError}
   */
  async retry(account: string, id: string): Promise<Delivery | undefined> {
    const delivery = await this.store.find(account, id);
    if (delivery === undefined) return undefined;
    switch (await this.store.retry(account, id)) {
      case 'unknown':
        return undefined;
      case 'lost':
        throw new WebhookConflictError(
          `The event ${delivery.eventId} is not kept any more: nothing is left to be delivered.`,
        );
      case 'disabled':
        throw disabledConflict('It would not be delivered');
      case 'removed':
        throw new WebhookConflictError('The webhook of this delivery was removed.');
      case 'retried':
        await hintQuietly(this.jobs, this.logger, account, delivery.endpointId);
        return this.store.find(account, id);
    }
  }
}
