import { randomBytes } from 'node:crypto';
import {
  parseRedisStreamEntry,
  type ReaderLease,
  EventLogReaderLeaseLostError,
  eventLogReaderLeaseRedisKey,
  type StreamEntry,
} from '#events';
import { accountKeys, type LuaArguments, type LuaScript, type RedisClient } from '#platform';
import { type Delivery, deliveryId, type NewDelivery } from '../delivery/delivery.js';
import type {
  PendingStretch,
  ClaimResult,
  ClaimedDelivery,
  ClaimLimits,
  DeliverNowResult,
  DeliveryPage,
  DeliveryQuery,
  DeliveryRetention,
  DeliveryStore,
  FinishedAttempt,
  ReplayScope,
  ReplayStep,
  RetryResult,
  SettlementResult,
} from '../delivery/delivery-store.js';
import { splitIntoDeliveryChunks } from '../delivery/delivery-chunks.js';
import { parseEndpointForDelivery } from '../endpoint/stored-endpoint.js';
import {
  readEventRangeForBacklogRefillScript,
  countDeliveriesToReplayScript,
  createDeliveriesScript,
  createOrRetryDeliveryScript,
  refillBacklogScript,
  replayDeliveriesScript,
  retryDeliveryScript,
} from './redis-delivery-creation.js';
import { contentOfEvent, type EventContent, RecentEventCache } from '../delivery/recent-event-cache.js';
import { RedisDeliveryReader } from './redis-delivery-reader.js';
import {
  claimDeliveriesScript,
  failPendingDeliveriesScript,
  listEndpointsWithDueDeliveriesScript,
  releaseDeliveryClaimScript,
  settleDeliveriesScript,
  trimFinishedDeliveriesScript,
} from './redis-delivery-scripts.js';

/** Max pending deliveries that one script ends, so that Redis is never blocked for long. */
const MAX_ENDED = 500;
/** Max finished deliveries that one script removes. */
const MAX_TRIMMED = 1_000;
/** Max endpoints with due deliveries that one script lists. */
const MAX_LISTED = 500;
/** Max attempts that are stored with one delivery. */
const MAX_ATTEMPTS = 100;

/** Implements {@link DeliveryStore} in Redis. All times are by Redis' clock. */
export class RedisDeliveryStore implements DeliveryStore {
  private readonly stored: RedisDeliveryReader;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    /** Cache of the events that this process has read from the event logs most recently. */
    private readonly recent = new RecentEventCache(),
  ) {
    this.stored = new RedisDeliveryReader(redis, prefix);
  }

  async create(account: string, deliveries: readonly NewDelivery[], reader?: ReaderLease): Promise<void> {
    const lease =
      reader === undefined
        ? { lease: '', token: '', leaseMs: 0 }
        : {
            lease: eventLogReaderLeaseRedisKey(accountKeys(this.prefix, account)),
            token: reader.token,
            leaseMs: reader.leaseMs,
          };
    for (const chunk of splitIntoDeliveryChunks(deliveries)) {
      const held = await this.run(createDeliveriesScript, account, { ...lease, ...creationArguments(chunk) });
      if (held === 0) throw new EventLogReaderLeaseLostError();
    }
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

  async retry(account: string, id: string): Promise<RetryResult> {
    return (await this.run(retryDeliveryScript, account, { id })) as RetryResult;
  }

  async replay(
    account: string,
    endpointId: string,
    scope: ReplayScope,
    events: readonly NewDelivery['event'][],
  ): Promise<ReplayStep> {
    let count = 0;
    for (const chunk of splitIntoDeliveryChunks(events.map((event) => ({ endpointId, event })))) {
      const reply = await this.run(replayDeliveriesScript, account, { scope, ...creationArguments(chunk) });
      const step = reply as { count: number; isFull: number };
      count += step.count;
      if (step.isFull === 1) return { count, isBacklogFull: true };
    }
    return { count, isBacklogFull: false };
  }

  async countReplay(
    account: string,
    endpointId: string,
    scope: ReplayScope,
    events: readonly NewDelivery['event'][],
    counted: number,
  ): Promise<number> {
    let count = 0;
    for (const chunk of splitIntoDeliveryChunks(events)) {
      const reply = await this.run(countDeliveriesToReplayScript, account, {
        ...{ scope, endpoint: endpointId, counted: counted + count },
        entries: chunk.flatMap(({ id, position }) => [deliveryId(id, endpointId), position]),
      });
      count += Number(reply);
    }
    return count;
  }

  async deliverNow(account: string, { endpointId, event }: NewDelivery): Promise<DeliverNowResult> {
    const { id, type, contactId = '', position } = event;
    const reply = await this.run(createOrRetryDeliveryScript, account, {
      ...{ endpoint: endpointId, id: deliveryId(id, endpointId) },
      entries: [id, type, contactId, position],
    });
    return reply as DeliverNowResult;
  }

  async pendingStretch(account: string, endpointId: string): Promise<PendingStretch | undefined> {
    const reply = await this.run(readEventRangeForBacklogRefillScript, account, { endpoint: endpointId });
    return reply === null ? undefined : (reply as PendingStretch);
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
    return (await this.run(refillBacklogScript, account, args)) === 1;
  }

  async claim(
    account: string,
    endpointId: string,
    { defaultConcurrency, maxDeliveries, leaseMs }: ClaimLimits,
  ): Promise<ClaimResult> {
    const claimId = randomBytes(8).toString('hex');
    const known = this.recent.stretchOf(account);
    const reply = (await this.run(claimDeliveriesScript, account, {
      endpoint: endpointId,
      defaultSlots: defaultConcurrency,
      maxCount: maxDeliveries,
      leaseMs,
      claim: claimId,
      knownAfter: known.after,
      knownUntil: known.until,
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
      const content = this.contentOf(account, eventId, body, entry);
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

  private contentOf(
    account: string,
    eventId: string,
    body: string,
    entry: StreamEntry | '',
  ): EventContent | undefined {
    if (body !== '') return { body };
    if (entry === '') return this.recent.contentOf(account, eventId);
    const event = parseRedisStreamEntry(account, entry);
    if (event === undefined) throw new Error('The log has an entry without fields.');
    return contentOfEvent(event);
  }

  async settleAll(account: string, attempts: readonly FinishedAttempt[]): Promise<SettlementResult[]> {
    const [first] = attempts;
    if (first === undefined) return [];
    const inOrder = groupedByEndpoint(attempts);
    const reply = (await this.run(settleDeliveriesScript, account, {
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
    await this.run(releaseDeliveryClaimScript, account, {
      endpoint: endpointId,
      defaultSlots: defaultConcurrency,
      id,
      claim: claimId,
    });
  }

  async endPending(account: string, endpointId: string): Promise<void> {
    const args = { endpoint: endpointId, maxCount: MAX_ENDED };
    while (Number(await this.run(failPendingDeliveriesScript, account, args)) > 0);
  }

  async *overdue(account: string): AsyncGenerator<string[], void, void> {
    for (let first = 0; ; first += MAX_LISTED) {
      const endpoints = (await this.run(listEndpointsWithDueDeliveriesScript, account, {
        first,
        maxCount: MAX_LISTED,
      })) as string[];
      if (endpoints.length > 0) yield endpoints;
      if (endpoints.length < MAX_LISTED) return;
    }
  }

  async trim(account: string, { maxAgeMs, maxCount }: DeliveryRetention): Promise<number> {
    return Number(
      await this.run(trimFinishedDeliveriesScript, account, {
        maxAge: maxAgeMs,
        maxKept: maxCount,
        maxCount: MAX_TRIMMED,
      }),
    );
  }

  private run(script: LuaScript, account: string, args: LuaArguments): Promise<unknown> {
    const keys = accountKeys(this.prefix, account);
    // Redis Cluster uses the key `webhooks` to find the node that runs the script. The script builds the names of its
    // other keys from the prefix `base`.
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

/**
 * The fields of one delivery in the reply of `claim-deliveries.lua`. `body`: the body of the delivery's requests if an
 * older build stored the body, otherwise ''. `entry`: the event's entry in the event log; '' if `body` is not '', or if
 * this process can take the entry from its own cache of recent entries.
 */
type ClaimedFields = [id: string, eventId: string, attempts: string, body: string, entry: StreamEntry | ''];

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

/**
 * Returns the arguments of the scripts that create deliveries: first each event once, then the deliveries, which refer
 * to the events by index.
 */
function creationArguments(chunk: readonly NewDelivery[]): {
  eventCount: number;
  entries: (string | number)[];
} {
  const indexes = new Map<string, number>();
  const events: string[] = [];
  for (const { event } of chunk) {
    if (indexes.has(event.id)) continue;
    indexes.set(event.id, indexes.size);
    events.push(event.id, event.type, event.contactId ?? '', event.position);
  }
  const deliveries = chunk.flatMap(({ event, endpointId }) => [
    deliveryId(event.id, endpointId),
    endpointId,
    indexes.get(event.id) ?? 0,
  ]);
  return { eventCount: indexes.size, entries: [...events, ...deliveries] };
}
