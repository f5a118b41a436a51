import { randomBytes } from 'node:crypto';
import {
  eventToJson,
  readStreamEntry,
  type ReaderLease,
  ReaderLeaseLostError,
  readerKey,
  type StreamEntry,
} from '#events';
import { accountKeys, type LuaArguments, type LuaScript, type RedisClient } from '#platform';
import { type Attempt, type Delivery, deliveryId, type NewDelivery } from '../delivery/delivery.js';
import type {
  Behind,
  Claimed,
  ClaimedDelivery,
  ClaimTerms,
  DeliveryPage,
  DeliveryQuery,
  DeliveryRetention,
  DeliveryStore,
  Gap,
  ReplayScope,
  Retried,
  Settled,
  Settlement,
} from '../delivery/delivery-store.js';
import { chunksOf } from '../delivery/delivery-chunks.js';
import { BEHIND, CREATE, REFILL, REPLAY, RETRY } from './redis-delivery-creation.js';
import type { Strain } from '../delivery/retry-policy.js';
import { readDelivery } from './redis-delivery-record.js';
import { CLAIM, END_PENDING, LIST, OVERDUE, RELEASE, SETTLE, TRIM } from './redis-delivery-scripts.js';

/** How much one script does at most, so that Redis is never held for long. */
const MOST_ENDED = 500;
const MOST_TRIMMED = 1_000;
const MOST_LISTED = 500;
/** Deliveries that one page of a list looks at; a page may hold fewer, and still have a next one. */
const MAX_SCANNED = 1_000;
/** Attempts of one delivery. */
const MOST_ATTEMPTS = 100;

/** {@link DeliveryStore} in Redis, by Redis' clock. */
export class RedisDeliveryStore implements DeliveryStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async create(account: string, deliveries: readonly NewDelivery[], reader?: ReaderLease): Promise<void> {
    const lease =
      reader === undefined
        ? { lease: '', token: '', leaseMs: 0 }
        : {
            lease: readerKey(accountKeys(this.prefix, account)),
            token: reader.token,
            leaseMs: reader.leaseMs,
          };
    for (const chunk of chunksOf(deliveries)) {
      const held = await this.run(CREATE, account, { ...lease, ...creationArguments(chunk) });
      if (held === 0) throw new ReaderLeaseLostError();
    }
  }

  async find(account: string, id: string): Promise<Delivery | undefined> {
    return readDelivery(id, await this.redis.hgetall(accountKeys(this.prefix, account)('delivery', id)));
  }

  async list(
    account: string,
    endpointId: string,
    { status, limit, before }: DeliveryQuery,
  ): Promise<DeliveryPage> {
    const stored = status === 'missed' ? 'failed' : (status ?? '');
    const missed = stored === 'failed' ? (status === 'missed' ? 'yes' : 'no') : '';
    const reply = await this.run(LIST, account, {
      endpoint: endpointId,
      status: stored,
      missed,
      before: before ?? '',
      maxCount: limit,
      maxExamined: MAX_SCANNED,
    });
    const { next, ids } = reply as { next: string; ids: string[] };
    // What is trimmed meanwhile is not there any more.
    const found = await Promise.all(ids.map((id) => this.find(account, id)));
    return {
      deliveries: found.filter((delivery) => delivery !== undefined),
      ...(next === '' ? {} : { next: Number(next) }),
    };
  }

  async retry(account: string, id: string): Promise<Retried> {
    return (await this.run(RETRY, account, { id })) as Retried;
  }

  async replay(account: string, scope: ReplayScope, deliveries: readonly NewDelivery[]): Promise<number> {
    let count = 0;
    for (const chunk of chunksOf(deliveries)) {
      count += Number(await this.run(REPLAY, account, { scope, ...creationArguments(chunk) }));
    }
    return count;
  }

  async behind(account: string, endpointId: string): Promise<Behind | undefined> {
    const reply = await this.run(BEHIND, account, { endpoint: endpointId });
    return reply === null ? undefined : (reply as Behind);
  }

  async refill(
    account: string,
    endpointId: string,
    from: string,
    next: string,
    deliveries: readonly NewDelivery[],
  ): Promise<boolean> {
    const args = {
      endpoint: endpointId,
      expected: from,
      nextPosition: next,
      ...creationArguments(deliveries),
    };
    return (await this.run(REFILL, account, args)) === 1;
  }

  async gaps(account: string, endpointId: string): Promise<Gap[]> {
    const gaps = await this.redis.lrange(
      accountKeys(this.prefix, account)('endpoint', endpointId, 'gaps'),
      0,
      -1,
    );
    return gaps.map((gap) => {
      const [from = '', to = ''] = gap.split(' ');
      return { from, to };
    });
  }

  async claim(account: string, endpointId: string, { slots, room, leaseMs }: ClaimTerms): Promise<Claimed> {
    const claim = randomBytes(8).toString('hex');
    const reply = (await this.run(CLAIM, account, {
      endpoint: endpointId,
      defaultSlots: slots,
      maxCount: room,
      leaseMs,
      claim,
    })) as ClaimReply | null;
    if (reply === null) return { kind: 'ended' };
    const { stored, more, waitMs, canRefill, missed, deliveries: fields } = reply;
    const deliveries: ClaimedDelivery[] = [];
    for (let i = 0; i < fields.length; i += 5) {
      const [id, eventId, attempts, body, entry] = fields.slice(i, i + 5) as ClaimedFields;
      deliveries.push({
        ...{ id, claim, endpointId, eventId, slots, attempts: Number(attempts) },
        body: body === '' ? bodyOf(account, entry) : body,
      });
    }
    return {
      kind: 'claimed',
      ...{ endpoint: stored, deliveries, missed },
      more: more === 1,
      canRefill: canRefill === 1,
      ...(waitMs > 0 ? { waitMs } : {}),
    };
  }

  async settle(
    account: string,
    { id, claim, endpointId, slots }: ClaimedDelivery,
    attempt: Attempt,
    settlement: Settlement,
    { slower, aloneMs }: Strain = { slower: false, aloneMs: 0 },
  ): Promise<Settled> {
    const reply = await this.run(SETTLE, account, {
      endpoint: endpointId,
      defaultSlots: slots,
      id,
      claim,
      attempt: JSON.stringify(attempt),
      duration: attempt.durationMs,
      status: settlement.status,
      waitMs: settlement.status === 'pending' ? settlement.waitMs : 0,
      reason: settlement.status === 'failed' ? settlement.reason : '',
      slowsDown: slower ? 1 : 0,
      holdMs: aloneMs,
      maxAttempts: MOST_ATTEMPTS,
    });
    const { recorded, more, failingMs } = reply as { recorded: number; more: number; failingMs: number };
    return { recorded: recorded === 1, more: more === 1, failingMs };
  }

  async release(account: string, { id, claim, endpointId, slots }: ClaimedDelivery): Promise<void> {
    await this.run(RELEASE, account, { endpoint: endpointId, defaultSlots: slots, id, claim });
  }

  async endPending(account: string, endpointId: string): Promise<void> {
    const args = { endpoint: endpointId, maxCount: MOST_ENDED };
    while (Number(await this.run(END_PENDING, account, args)) > 0);
  }

  async *overdue(account: string): AsyncGenerator<string[], void, void> {
    for (let first = 0; ; first += MOST_LISTED) {
      const endpoints = (await this.run(OVERDUE, account, {
        first,
        maxCount: MOST_LISTED,
      })) as string[];
      if (endpoints.length > 0) yield endpoints;
      if (endpoints.length < MOST_LISTED) return;
    }
  }

  async trim(account: string, { maxAgeMs, maxCount }: DeliveryRetention): Promise<number> {
    return Number(
      await this.run(TRIM, account, { maxAge: maxAgeMs, maxKept: maxCount, maxCount: MOST_TRIMMED }),
    );
  }

  private run(script: LuaScript, account: string, args: LuaArguments): Promise<unknown> {
    const keys = accountKeys(this.prefix, account);
    // The one key names the slot; the prefix of all others follows.
    return script.run(this.redis, { webhooks: keys('webhooks') }, { base: keys(''), ...args });
  }
}

/** Reply of `claim-deliveries.lua`. */
interface ClaimReply {
  stored: string;
  more: number;
  waitMs: number;
  canRefill: number;
  missed: number;
  deliveries: (string | StreamEntry)[];
}

/** Of a delivery that was claimed: id, event, attempts, the body that an older build stored or '', the log's entry. */
type ClaimedFields = [id: string, eventId: string, attempts: string, body: string, entry: StreamEntry];

/** The event as JSON: what is posted, byte for byte, with every attempt and from whichever build. */
function bodyOf(account: string, entry: StreamEntry): string {
  const event = readStreamEntry(account, entry);
  if (event === undefined) throw new Error('The log has an entry without fields.');
  return eventToJson(event);
}

/** The arguments of the scripts that create: the events once each, then what is to be delivered. */
function creationArguments(chunk: readonly NewDelivery[]): {
  eventCount: number;
  entries: (string | number)[];
} {
  const places = new Map<string, number>();
  const events: string[] = [];
  for (const { event } of chunk) {
    if (places.has(event.id)) continue;
    places.set(event.id, places.size);
    events.push(event.id, event.type, event.contactId ?? '', event.position);
  }
  const deliveries = chunk.flatMap(({ event, endpointId }) => [
    deliveryId(event.id, endpointId),
    endpointId,
    places.get(event.id) ?? 0,
  ]);
  return { eventCount: places.size, entries: [...events, ...deliveries] };
}
