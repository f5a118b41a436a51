import type { EventLog, EventRetention, RedisLogSurvey } from '#events';
import {
  DELIVERY_ROUND,
  type DeliveryPump,
  type DeliveryRetention,
  type DeliveryStore,
  RECONCILE_DELIVERIES_MS,
  type RedisDeliverySurvey,
} from '#webhooks';
import type { RoleRounds } from '../rounds.js';

const TICK_MS = 500;
/** Between two rounds of retention of one account. */
const TRIM_MS = 30_000;
const TRIM_EVENTS = 'trim-events';
/** Retention takes small bites; so many of them a round. */
const MAX_BITES = 100;

/** What the rounds of the dispatching role work with. */
export interface DispatchRoundParts {
  pump: Pick<DeliveryPump, 'reconcile'>;
  deliveries: Pick<DeliveryStore, 'trim'>;
  log: Pick<EventLog, 'trim'>;
  deliverySurvey: Pick<RedisDeliverySurvey, 'look'>;
  logSurvey: Pick<RedisLogSurvey, 'trimInMs'>;
  retention: { deliveries: DeliveryRetention; events: EventRetention };
  isFull(): Promise<boolean>;
}

/** The dispatching role's rounds: lost hints and retention. An account without deliveries has nothing due. */
export function dispatchRounds(parts: DispatchRoundParts): RoleRounds {
  const { pump, deliveries, log, deliverySurvey, logSurvey, retention } = parts;
  const trimDeliveries = (account: string): Promise<void> =>
    untilNone(() => deliveries.trim(account, retention.deliveries));
  const trimEvents = (account: string): Promise<void> => untilNone(() => log.trim(account, retention.events));
  return {
    tickMs: TICK_MS,
    rounds: {
      [DELIVERY_ROUND.reconcile]: {
        run: async (account) => {
          await pump.reconcile(account);
          return atLeast(RECONCILE_DELIVERIES_MS, (await deliverySurvey.look(account)).overdueInMs);
        },
      },
      [DELIVERY_ROUND.trim]: {
        run: async (account) => {
          await trimDeliveries(account);
          return atLeast(TRIM_MS, (await deliverySurvey.look(account)).trimInMs);
        },
      },
      [TRIM_EVENTS]: {
        run: async (account) => {
          await trimEvents(account);
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
      const { overdueInMs, trimInMs } = await deliverySurvey.look(account);
      return {
        [DELIVERY_ROUND.reconcile]: overdueInMs,
        [DELIVERY_ROUND.trim]: trimInMs,
        [TRIM_EVENTS]: await logSurvey.trimInMs(account),
      };
    },
  };
}

function atLeast(ms: number, inMs: number | undefined): number | undefined {
  return inMs === undefined ? undefined : Math.max(ms, inMs);
}

async function untilNone(bite: () => Promise<number>): Promise<void> {
  for (let bites = 0; bites < MAX_BITES; bites += 1) if ((await bite()) === 0) return;
}
