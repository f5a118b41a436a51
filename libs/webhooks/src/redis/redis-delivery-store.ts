import { randomBytes } from 'node:crypto';
import { parseRedisStreamEntry, type StreamEntry } from '#events';
import type { RedisClient } from '#platform';
import type { Delivery } from '../delivery/delivery.js';
import type {
  ClaimResult,
  ClaimedDelivery,
  ClaimLimits,
  DeliveryPage,
  DeliveryQuery,
  DeliveryRetention,
  DeliveryStore,
  FinishedAttempt,
  SettlementResult,
} from '../delivery/delivery-store.js';
import { parseEndpointForDelivery } from '../endpoint/stored-endpoint.js';
import { RedisDeliveryCreator } from './redis-delivery-creator.js';
import { contentOfEvent, type EventContent, RecentEventCache } from '../delivery/recent-event-cache.js';
import { RedisDeliveryReader } from './redis-delivery-reader.js';
import {
  claimDeliveriesScript,
  failPendingDeliveriesScript,
  listEndpointsWithDueWorkScript,
  releaseDeliveryClaimScript,
  settleDeliveriesScript,
  trimFinishedDeliveriesScript,
} from './redis-delivery-scripts.js';

/** Max number of pending deliveries that one script ends, so that Redis is never blocked for long. */
const MAX_ENDED = 500;
/** Max number of finished deliveries that one script removes. */
const MAX_TRIMMED = 1_000;
/** Max number of endpoints in one batch of {@link RedisDeliveryStore.overdue}. */
const MAX_ENDPOINTS_LISTED = 500;
/** Max number of attempts that are stored with one delivery. */
const MAX_ATTEMPTS = 100;

/** Implements {@link DeliveryStore} in Redis. All times are by Redis' clock. */
export class RedisDeliveryStore extends RedisDeliveryCreator implements DeliveryStore {
  private readonly stored: RedisDeliveryReader;

  constructor(
    redis: RedisClient,
    prefix: string,
    /** Cache of the events that this process has read from the event logs most recently. */
    private readonly recent = new RecentEventCache(),
  ) {
    super(redis, prefix);
    this.stored = new RedisDeliveryReader(redis, prefix);
  }

  find(account: string, id: string): Promise<Delivery | undefined> {
    return this.stored.find(account, id);
  }

  list(account: string, endpointId: string, query: DeliveryQuery): Promise<DeliveryPage> {
    return this.stored.page(account, endpointId, query);
  }

  listAll(account: string, query: DeliveryQuery): Promise<DeliveryPage> {
    return this.stored.page(account, undefined, query);
  }

  async claim(
    account: string,
    endpointId: string,
    { defaultConcurrency, maxDeliveries, leaseMs }: ClaimLimits,
  ): Promise<ClaimResult> {
    const claimId = randomBytes(8).toString('hex');
    const recent = this.recent.of(account);
    const reply = (await this.scripts.run(claimDeliveriesScript, account, {
      endpoint: endpointId,
      defaultSlots: defaultConcurrency,
      maxCount: maxDeliveries,
      leaseMs,
      claim: claimId,
      knownAfter: recent.after,
      knownUntil: recent.until,
    })) as ClaimReply | null;
    if (reply === null) return { kind: 'ended' };
    const { stored, more, waitMs, canRefill, missed, deliveries: fields } = reply;
    const endpoint = parseEndpointForDelivery(stored);
    const { url } = endpoint;
    const deliveries: ClaimedDelivery[] = [];
    const withoutEvent: Omit<ClaimedDelivery, 'body'>[] = [];
    for (let i = 0; i < fields.length; i += 5) {
      const [id, eventId, attempts, body, entry] = fields.slice(i, i + 5) as ClaimedFields;
      const claimed = {
        ...{ id, claimId, endpointId, url, eventId },
        ...{ defaultConcurrency, attempts: Number(attempts) },
      };
      const content = contentInReply(account, body, entry) ?? recent.contents.get(eventId);
      if (content === undefined) withoutEvent.push(claimed);
      else deliveries.push({ ...claimed, ...content });
    }
    if (withoutEvent.length > 0) {
      // The cache of this process lacks some of the events, because another process read them from the log. After the
      // cache is cleared, the next claim reads all events from the log.
      this.recent.forget(account);
      await Promise.all(withoutEvent.map((claimed) => this.release(account, claimed)));
    }
    return {
      kind: 'claimed',
      ...{ endpoint, deliveries, missed },
      hasMore: more === 1 || withoutEvent.length > 0,
      canRefill: canRefill === 1,
      ...(waitMs > 0 ? { waitMs } : {}),
    };
  }

  async settleAll(account: string, attempts: readonly FinishedAttempt[]): Promise<SettlementResult[]> {
    const [first] = attempts;
    if (first === undefined) return [];
    const inOrder = groupedByEndpoint(attempts);
    const reply = (await this.scripts.run(settleDeliveriesScript, account, {
      defaultSlots: first.delivery.defaultConcurrency,
      maxAttempts: MAX_ATTEMPTS,
      attempts: inOrder.flatMap(({ one: { delivery, attempt, settlement, throttling } }) => [
        delivery.endpointId,
        delivery.id,
        delivery.claimId,
        JSON.stringify(attempt),
        attempt.durationMs,
        settlement.status,
        settlement.status === 'pending' ? settlement.waitMs : 0,
        settlement.status === 'pending' ? (settlement.requestedMs ?? 0) : 0,
        settlement.status === 'failed' ? settlement.reason : '',
        throttling.slowsDown ? 1 : 0,
        throttling.pauseMs,
        delivery.url,
      ]),
    })) as number[];
    const results: SettlementResult[] = [];
    for (const [n, { index }] of inOrder.entries()) {
      const [failingMs = -1, more = 0] = reply.slice(2 * n, 2 * n + 2);
      results[index] = { isRecorded: failingMs >= 0, failingMs: Math.max(failingMs, 0), hasMore: more === 1 };
    }
    return results;
  }

  async release(
    account: string,
    { id, claimId, endpointId, defaultConcurrency }: Omit<ClaimedDelivery, 'body'>,
  ): Promise<void> {
    await this.scripts.run(releaseDeliveryClaimScript, account, {
      endpoint: endpointId,
      defaultSlots: defaultConcurrency,
      id,
      claim: claimId,
    });
  }

  async endPending(account: string, endpointId: string): Promise<void> {
    const args = { endpoint: endpointId, maxCount: MAX_ENDED };
    while (Number(await this.scripts.run(failPendingDeliveriesScript, account, args)) > 0);
  }

  async *overdue(account: string): AsyncGenerator<string[], void, void> {
    for (let first = 0; ; first += MAX_ENDPOINTS_LISTED) {
      const endpoints = (await this.scripts.run(listEndpointsWithDueWorkScript, account, {
        first,
        maxCount: MAX_ENDPOINTS_LISTED,
      })) as string[];
      if (endpoints.length > 0) yield endpoints;
      if (endpoints.length < MAX_ENDPOINTS_LISTED) return;
    }
  }

  async trim(account: string, { maxAgeMs, maxCount }: DeliveryRetention): Promise<number> {
    return Number(
      await this.scripts.run(trimFinishedDeliveriesScript, account, {
        maxAge: maxAgeMs,
        maxKept: maxCount,
        maxCount: MAX_TRIMMED,
      }),
    );
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

/**
 * The fields of one delivery in the reply of `claim-deliveries.lua`. `body`: the body of the delivery's requests if an
 * older build stored the body, otherwise ''. `entry`: the event's entry in the event log; '' if `body` is not '', or if
 * the event is in the period that this process has cached.
 */
type ClaimedFields = [id: string, eventId: string, attempts: string, body: string, entry: StreamEntry | ''];

/** Returns the content of an event if the reply contains it. */
function contentInReply(account: string, body: string, entry: StreamEntry | ''): EventContent | undefined {
  if (body !== '') return { body };
  if (entry === '') return undefined;
  const event = parseRedisStreamEntry(account, entry);
  if (event === undefined) throw new Error('The log has an entry without fields.');
  return contentOfEvent(event);
}

/**
 * Returns the attempts grouped by endpoint, each with its index in `attempts`. Attempts of one endpoint keep their
 * order.
 */
function groupedByEndpoint(
  attempts: readonly FinishedAttempt[],
): readonly { one: FinishedAttempt; index: number }[] {
  const groups = new Map<string, { one: FinishedAttempt; index: number }[]>();
  for (const [index, one] of attempts.entries()) {
    const { endpointId } = one.delivery;
    const group = groups.get(endpointId);
    if (group === undefined) groups.set(endpointId, [{ one, index }]);
    else group.push({ one, index });
  }
  return [...groups.values()].flat();
}
