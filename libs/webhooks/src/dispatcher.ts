import { type LoggedEvent, matchesEventType, type ReaderLease } from '#events';
import type { Logger } from '#platform';
import type { DeliveryJobs } from './delivery-jobs.js';
import type { DeliveryStore } from './delivery-store.js';
import type { NewDelivery } from './delivery.js';
import type { EndpointStore } from './endpoint-store.js';
import type { Endpoint } from './endpoint.js';

/** Makes a delivery of every event for every endpoint that asked for it. */
export class Dispatcher {
  constructor(
    private readonly endpoints: Pick<EndpointStore, 'list'>,
    private readonly deliveries: Pick<DeliveryStore, 'create'>,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
  ) {}

  /**
   * Stores the deliveries of the events; once it resolves, the events may be acknowledged. Safe to be called again
   * with the same events: what exists is left alone.
   * @param reader who read them, and must still be the reader while they are stored
   * @throws {ReaderLeaseLostError}
   */
  async dispatch(account: string, events: readonly LoggedEvent[], reader?: ReaderLease): Promise<void> {
    if (events.length === 0) return;
    // The disabled ones too: the store writes down what they miss.
    const endpoints = await this.endpoints.list(account);
    const deliveries = events.flatMap((event) => deliveriesOf(event, endpoints));
    if (deliveries.length === 0) return;
    await this.deliveries.create(account, deliveries, reader);
    try {
      const enabled = new Set(endpoints.filter((endpoint) => endpoint.enabled).map(({ id }) => id));
      const waiting = new Set(deliveries.map(({ endpointId }) => endpointId));
      await this.jobs.wake(
        account,
        [...waiting].filter((id) => enabled.has(id)),
      );
    } catch (error) {
      // The deliveries are stored: the reconciler finds them.
      this.logger.warn({ account, err: error }, 'delivery.hint_lost');
    }
  }
}

/** What of an endpoint says which events it gets. */
type Wish = Pick<Endpoint, 'id' | 'eventTypes' | 'contactIds'>;

function deliveriesOf(event: LoggedEvent, endpoints: readonly Wish[]): NewDelivery[] {
  return endpoints.filter((endpoint) => wants(endpoint, event)).map(({ id }) => ({ endpointId: id, event }));
}

/** Whether an event is for an endpoint. A test is for the endpoint that it names, whatever that asked for. */
export function wants(endpoint: Wish, event: LoggedEvent): boolean {
  if (event.type === 'webhook.test') return testedEndpoint(event) === endpoint.id;
  const { eventTypes, contactIds } = endpoint;
  if (eventTypes !== null && !eventTypes.some((pattern) => matchesEventType(pattern, event.type))) {
    return false;
  }
  return contactIds === null || (event.contactId !== undefined && contactIds.includes(event.contactId));
}

function testedEndpoint({ data }: LoggedEvent): unknown {
  return (JSON.parse(data) as { webhookId?: unknown }).webhookId;
}
