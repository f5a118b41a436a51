import { randomBytes } from 'node:crypto';
import { accountKeys, type RedisClient, type RedisScript } from '#platform';
import type { EventType } from '#events';
import {
  type Attempt,
  type Delivery,
  deliveryId,
  type DeliveryStatus,
  type NewDelivery,
} from './delivery.js';
import type {
  Claimed,
  ClaimedDelivery,
  ClaimTerms,
  DeliveryRetention,
  DeliveryStore,
  Settled,
  Settlement,
} from './delivery-store.js';
import { CLAIM, CREATE, END_PENDING, OVERDUE, RELEASE, SETTLE, TRIM } from './redis-delivery-scripts.js';

/** How much one script does at most, so that Redis is never held for long. */
const MOST_CREATED = 200;
const MOST_CREATED_BYTES = 4 * 1024 * 1024;
const MOST_ENDED = 500;
const MOST_TRIMMED = 1_000;
const MOST_LISTED = 500;

/** {@link DeliveryStore} in Redis, by Redis' clock. */
export class RedisDeliveryStore implements DeliveryStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async create(account: string, deliveries: readonly NewDelivery[]): Promise<void> {
    for (const chunk of chunksOf(deliveries)) {
      const places = new Map<string, number>();
      const events: string[] = [];
      for (const { event, body } of chunk) {
        if (places.has(event.id)) continue;
        places.set(event.id, places.size);
        events.push(event.id, event.type, event.contactId ?? '', body);
      }
      await this.run(CREATE, account, [
        places.size,
        ...events,
        ...chunk.flatMap(({ event, endpointId }) => [
          deliveryId(event.id, endpointId),
          endpointId,
          places.get(event.id) ?? 0,
        ]),
      ]);
    }
  }

  async find(account: string, id: string): Promise<Delivery | undefined> {
    const stored = await this.redis.hgetall(accountKeys(this.prefix, account)('delivery', id));
    return stored['status'] === undefined ? undefined : deliveryOf(id, stored);
  }

  async claim(account: string, endpointId: string, { slots, room, leaseMs }: ClaimTerms): Promise<Claimed> {
    const claim = randomBytes(8).toString('hex');
    const reply = await this.run(CLAIM, account, [endpointId, slots, room, leaseMs, claim]);
    if (reply === null) return { kind: 'ended' };
    const [endpoint, more, ...fields] = reply as [string, number, ...string[]];
    const deliveries: ClaimedDelivery[] = [];
    for (let i = 0; i < fields.length; i += 4) {
      const [id = '', eventId = '', attempts = '0', body = ''] = fields.slice(i, i + 4);
      deliveries.push({ id, claim, endpointId, eventId, slots, attempts: Number(attempts), body });
    }
    return { kind: 'claimed', endpoint, deliveries, more: more === 1 };
  }

  async settle(
    account: string,
    { id, claim, endpointId, slots }: ClaimedDelivery,
    attempt: Attempt,
    settlement: Settlement,
  ): Promise<Settled> {
    const reply = await this.run(SETTLE, account, [
      endpointId,
      slots,
      id,
      claim,
      JSON.stringify(attempt),
      settlement.status,
      settlement.status === 'pending' ? settlement.waitMs : 0,
      settlement.status === 'failed' ? settlement.reason : '',
    ]);
    const [recorded, more] = reply as [number, number];
    return { recorded: recorded === 1, more: more === 1 };
  }

  async release(account: string, { id, claim, endpointId, slots }: ClaimedDelivery): Promise<void> {
    await this.run(RELEASE, account, [endpointId, slots, id, claim]);
  }

  async endPending(account: string, endpointId: string): Promise<void> {
    while (Number(await this.run(END_PENDING, account, [endpointId, MOST_ENDED])) > 0);
  }

  async *overdue(account: string): AsyncGenerator<string[], void, void> {
    for (let first = 0; ; first += MOST_LISTED) {
      const endpoints = (await this.run(OVERDUE, account, [first, MOST_LISTED])) as string[];
      if (endpoints.length > 0) yield endpoints;
      if (endpoints.length < MOST_LISTED) return;
    }
  }

  async trim(account: string, { maxAgeMs, maxCount }: DeliveryRetention): Promise<number> {
    return Number(await this.run(TRIM, account, [maxAgeMs, maxCount, MOST_TRIMMED]));
  }

  private run(script: RedisScript, account: string, args: readonly (string | number)[]): Promise<unknown> {
    const keys = accountKeys(this.prefix, account);
    // The one key names the slot; the prefix of all others follows.
    return script.run(this.redis, [keys('webhooks')], [keys(''), ...args]);
  }
}

function* chunksOf(deliveries: readonly NewDelivery[]): Generator<NewDelivery[], void, void> {
  let chunk: NewDelivery[] = [];
  let bytes = 0;
  for (const delivery of deliveries) {
    const size = Buffer.byteLength(delivery.body);
    if (chunk.length === MOST_CREATED || (chunk.length > 0 && bytes + size > MOST_CREATED_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(delivery);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

function deliveryOf(id: string, stored: Readonly<Record<string, string>>): Delivery {
  const date = (field: string): string | null => {
    const ms = stored[field];
    return ms === undefined ? null : new Date(Number(ms)).toISOString();
  };
  const attempts: Attempt[] = [];
  for (let n = 1; n <= Number(stored['attempts']); n++) {
    attempts.push(JSON.parse(stored[`attempt:${n}`] ?? 'null') as Attempt);
  }
  return {
    id,
    endpointId: stored['endpoint'] ?? '',
    eventId: stored['event'] ?? '',
    eventType: stored['type'] as EventType,
    contactId: emptyIsNull(stored['contact']),
    status: stored['status'] as DeliveryStatus,
    reason: emptyIsNull(stored['reason']),
    attempts,
    createdAt: date('createdAt') ?? '',
    nextAttemptAt: date('nextAttemptAt'),
    finishedAt: date('finishedAt'),
  };
}

function emptyIsNull(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
