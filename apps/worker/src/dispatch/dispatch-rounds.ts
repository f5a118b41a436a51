import type { EventLog, EventRetention, RedisEventLogTrimSchedule } from '#events';
import {
  DELIVERY_TASK_NAMES,
  type DeliveryRunner,
  type DeliveryRetention,
  type DeliveryStore,
  DUE_DELIVERY_CHECK_DELAY_MS,
  type RedisDeliveryDueTimeReader,
} from '#webhooks';
import type { RoleRounds } from '../round-schedule.js';

/** Maximum time between two reads of the agenda while wake-ups do not arrive, in milliseconds. */
const TICK_MS = 500;
/** Minimum time between two retention rounds of one account, in milliseconds. */
const TRIM_MS = 30_000;
/** Time until the next retention round if the last one left records to remove, in milliseconds. */
const CONTINUE_TRIM_MS = 250;
const TRIM_EVENTS = 'trim-events';
/**
 * Maximum number of retention batches per round. Each batch removes few records, so that no script blocks
 * Redis for long.
 */
const MAX_BATCHES = 100;

/** Dependencies of the rounds of the role `dispatch`. */
export interface DispatchRoundParts {
  runner: Pick<DeliveryRunner, 'reconcile'>;
  deliveries: Pick<DeliveryStore, 'trim'>;
  log: Pick<EventLog, 'trim'>;
  deliverySurvey: Pick<RedisDeliveryDueTimeReader, 'read'>;
  logSurvey: Pick<RedisEventLogTrimSchedule, 'trimInMs'>;
  retention: { deliveries: DeliveryRetention; events: EventRetention };
  isFull(): Promise<boolean>;
}

/**
 * Returns the rounds of the role `dispatch`: they restore lost hints and apply retention. An account without events
 * and deliveries has no due round.
 */
export function dispatchRounds(parts: DispatchRoundParts): RoleRounds {
  const { runner, deliveries, log, deliverySurvey, logSurvey, retention } = parts;
  const trimDeliveries = (account: string): Promise<boolean> =>
    repeatUntilEmpty(() => deliveries.trim(account, retention.deliveries));
  const trimEvents = (account: string): Promise<boolean> =>
    repeatUntilEmpty(() => log.trim(account, retention.events));
  return {
    tickMs: TICK_MS,
    rounds: {
      [DELIVERY_TASK_NAMES.reconcile]: {
        run: async (account) => {
          await runner.reconcile(account);
          return atLeast(DUE_DELIVERY_CHECK_DELAY_MS, (await deliverySurvey.read(account)).deliveryCheckInMs);
        },
      },
      [DELIVERY_TASK_NAMES.trim]: {
        run: async (account) => {
          if (!(await trimDeliveries(account))) return CONTINUE_TRIM_MS;
          return atLeast(TRIM_MS, (await deliverySurvey.read(account)).trimInMs);
        },
      },
      [TRIM_EVENTS]: {
        run: async (account) => {
          if (!(await trimEvents(account))) return CONTINUE_TRIM_MS;
          return atLeast(TRIM_MS, await logSurvey.trimInMs(account));
        },
      },
    },
    relief: {
      isNeeded: () => parts.isFull(),
      run: async (account) => {
        await trimEvents(account);
        await trimDeliveries(account);
      },
    },
    survey: async (account) => {
      const { deliveryCheckInMs, trimInMs } = await deliverySurvey.read(account);
      return {
        [DELIVERY_TASK_NAMES.reconcile]: deliveryCheckInMs,
        [DELIVERY_TASK_NAMES.trim]: trimInMs,
        [TRIM_EVENTS]: await logSurvey.trimInMs(account),
      };
    },
  };
}

function atLeast(ms: number, inMs: number | undefined): number | undefined {
  return inMs === undefined ? undefined : Math.max(ms, inMs);
}

/** Returns false if records may be left to remove. */
async function repeatUntilEmpty(removeBatch: () => Promise<number>): Promise<boolean> {
  for (let batches = 0; batches < MAX_BATCHES; batches += 1) if ((await removeBatch()) === 0) return true;
  return false;
}
