import { type ReaderLease, EventLogReaderLeaseLostError, eventLogReaderLeaseRedisKey } from '#events';
import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { splitIntoDeliveryChunks } from '../delivery/delivery-chunks.js';
import type {
  DeliverNowResult,
  DeliveryStore,
  RefillRange,
  ReplayScope,
  ReplayStep,
  RetryResult,
} from '../delivery/delivery-store.js';
import { deliveryId, type NewDelivery } from '../delivery/delivery.js';
import { BACKLOG_LUA_CONSTANTS } from './backlog-constants.js';
import { RedisDeliveryScriptRunner } from './redis-delivery-script-runner.js';

/** Creates deliveries of events to endpoints. */
const createDeliveriesScript = LuaScript.from(
  import.meta.url,
  'lua/create-deliveries.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Creates deliveries of past events, and makes existing deliveries pending and due again. */
const replayDeliveriesScript = LuaScript.from(
  import.meta.url,
  'lua/replay-deliveries.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Counts the deliveries that {@link replayDeliveriesScript} would create, make pending, or make due. */
const countDeliveriesToReplayScript = LuaScript.from(
  import.meta.url,
  'lua/count-replay.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Creates the delivery of one event to one endpoint, or makes the existing delivery due now. */
const createOrRetryDeliveryScript = LuaScript.from(
  import.meta.url,
  'lua/deliver-event.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Makes one delivery due now. Restarts the retry schedule of a finished delivery. */
const retryDeliveryScript = LuaScript.from(import.meta.url, 'lua/retry-delivery.lua', BACKLOG_LUA_CONSTANTS);
/** Reads the range of events for which an endpoint's deliveries must still be created. */
const readEventRangeForBacklogRefillScript = LuaScript.from(
  import.meta.url,
  'lua/read-undelivered-range.lua',
  BACKLOG_LUA_CONSTANTS,
);
/**
 * Creates deliveries for the range that {@link readEventRangeForBacklogRefillScript} returned, and moves the start of
 * the range.
 */
const refillBacklogScript = LuaScript.from(import.meta.url, 'lua/refill-backlog.lua', BACKLOG_LUA_CONSTANTS);

/** The part of the store of deliveries that creates deliveries and makes them pending or due again. */
export class RedisDeliveryCreator implements Pick<
  DeliveryStore,
  'create' | 'retry' | 'replay' | 'countReplay' | 'deliverNow' | 'readRefillRange' | 'refill'
> {
  protected readonly scripts: RedisDeliveryScriptRunner;

  constructor(
    protected readonly redis: RedisClient,
    protected readonly prefix: string,
  ) {
    this.scripts = new RedisDeliveryScriptRunner(redis, prefix);
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
      const held = await this.scripts.run(createDeliveriesScript, account, {
        ...lease,
        ...creationArguments(chunk),
      });
      if (held === 0) throw new EventLogReaderLeaseLostError();
    }
  }

  async retry(account: string, id: string): Promise<RetryResult> {
    return (await this.scripts.run(retryDeliveryScript, account, { id })) as RetryResult;
  }

  async replay(
    account: string,
    endpointId: string,
    scope: ReplayScope,
    events: readonly NewDelivery['event'][],
  ): Promise<ReplayStep> {
    let count = 0;
    for (const chunk of splitIntoDeliveryChunks(events.map((event) => ({ endpointId, event })))) {
      const reply = await this.scripts.run(replayDeliveriesScript, account, {
        scope,
        ...creationArguments(chunk),
      });
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
      const reply = await this.scripts.run(countDeliveriesToReplayScript, account, {
        ...{ scope, endpoint: endpointId, counted: counted + count },
        entries: chunk.flatMap(({ id, position }) => [deliveryId(id, endpointId), position]),
      });
      count += Number(reply);
    }
    return count;
  }

  async deliverNow(account: string, { endpointId, event }: NewDelivery): Promise<DeliverNowResult> {
    const { id, type, contactId = '', position } = event;
    const reply = await this.scripts.run(createOrRetryDeliveryScript, account, {
      ...{ endpoint: endpointId, id: deliveryId(id, endpointId) },
      entries: [id, type, contactId, position],
    });
    return reply as DeliverNowResult;
  }

  async readRefillRange(account: string, endpointId: string): Promise<RefillRange | undefined> {
    const reply = await this.scripts.run(readEventRangeForBacklogRefillScript, account, {
      endpoint: endpointId,
    });
    return reply === null ? undefined : (reply as RefillRange);
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
    return (await this.scripts.run(refillBacklogScript, account, args)) === 1;
  }
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
