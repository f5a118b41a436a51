import { accountKeys, type RedisClient } from '#platform';
import { type Delivery, deliveryId } from '../delivery/delivery.js';
import type { DeliveryPage, DeliveryQuery } from '../delivery/delivery-store.js';
import { parseDelivery } from './redis-delivery-record.js';
import { RedisDeliveryScriptRunner } from './redis-delivery-script-runner.js';
import { listDeliveriesScript, listEventDeliveriesScript } from './redis-delivery-scripts.js';

/**
 * Max number of deliveries that are examined for one page of a list. If few of them match, the page is short, but
 * more pages may follow.
 */
const MAX_SCANNED = 1_000;

/** Reads single deliveries and pages of deliveries. */
export class RedisDeliveryReader {
  private readonly scripts: RedisDeliveryScriptRunner;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {
    this.scripts = new RedisDeliveryScriptRunner(redis, prefix);
  }

  async find(account: string, id: string): Promise<Delivery | undefined> {
    const keys = accountKeys(this.prefix, account);
    const stored = await this.redis.hgetall(keys('delivery', id));
    const delivery = parseDelivery(id, stored);
    const { lane } = stored;
    if (delivery?.status !== 'pending' || lane === undefined) return delivery;
    const first = await this.redis.hget(keys('endpoint', delivery.endpointId, 'turns'), lane);
    return first === id ? delivery : { ...delivery, blockedBy: first };
  }

  /** Returns a page of the deliveries of an endpoint, or of all endpoints. */
  async page(account: string, endpoint: string | undefined, query: DeliveryQuery): Promise<DeliveryPage> {
    const { eventId } = query;
    const { next, ids } =
      eventId === undefined
        ? await this.ids(account, endpoint ?? '', query)
        : await this.idsOfEvent(account, endpoint, eventId, query);
    // `find` returns undefined for a delivery that was removed after its id was read.
    const found = await Promise.all(ids.map((id) => this.find(account, id)));
    return {
      deliveries: found.filter((delivery) => delivery !== undefined),
      ...(next === '' ? {} : { next: Number(next) }),
    };
  }

  private async ids(account: string, endpoint: string, query: DeliveryQuery): Promise<Ids> {
    const args = { endpoint, maxExamined: MAX_SCANNED, ...listArguments(query) };
    return (await this.scripts.run(listDeliveriesScript, account, args)) as Ids;
  }

  /**
   * Returns a page of ids of the event's deliveries to one endpoint or to all endpoints. No index by event is needed,
   * because the id of a delivery is computed from the ids of the event and the endpoint.
   */
  private async idsOfEvent(
    account: string,
    endpoint: string | undefined,
    eventId: string,
    query: DeliveryQuery,
  ): Promise<Ids> {
    const webhooks = accountKeys(this.prefix, account)('webhooks');
    const endpoints = endpoint === undefined ? await this.redis.hkeys(webhooks) : [endpoint];
    const reply = await this.scripts.run(listEventDeliveriesScript, account, {
      ...listArguments(query),
      entries: endpoints.flatMap((id) => [id, deliveryId(eventId, id)]),
    });
    return reply as Ids;
  }
}

/** Reply of the scripts that list deliveries. */
interface Ids {
  next: string;
  ids: string[];
}

/** Returns the arguments that all scripts that list deliveries have in common. */
function listArguments({ status, since, before, limit }: DeliveryQuery): {
  status: string;
  missed: string;
  since: string | number;
  before: string | number;
  maxCount: number;
} {
  const stored = status === 'missed' ? 'failed' : (status ?? '');
  const missed = stored === 'failed' ? (status === 'missed' ? 'yes' : 'no') : '';
  return { status: stored, missed, since: since ?? '', before: before ?? '', maxCount: limit };
}
