import type { Account } from '#accounts';
import { type FeedOverview, forecastPolling, type VolatileField } from '#feed';
import type { SendsOverview } from '#relay';
import type { BudgetUsage } from '#upstream';
import { usesContactList } from '../health/account-reasons.js';
import type { PollerStatusView } from './poller-status.view.js';
import { timeOf } from './time-of.js';

/** Values of an account without polling: no contact of it is polled. */
const NOT_POLLED = {
  ...{ contacts: 0, due: 0, lagMs: 0 },
  ...{ rates: new Map<number, number>(), deep: { waiting: 0, lagMs: 0 } },
};

/** Returns the polling status of an account for `GET /v1/status`. */
export function pollerOf(
  overview: FeedOverview,
  account: Pick<Account, 'polling' | 'requestsPerSecond'> | undefined,
  sends: Pick<SendsOverview, 'lanes'>,
  usage: BudgetUsage,
  volatileFields: VolatileField[],
): PollerStatusView {
  const feed = account?.polling === true ? overview : { ...overview, ...NOT_POLLED };
  const { contacts, due, lagMs, unreadable, skipped, deep, detectionDelay, interval, listFault } = feed;
  const usesList = usesContactList(account, sends);
  const suspectSince = usesList ? feed.suspectSince : undefined;
  const requestsPerSecond = account?.requestsPerSecond ?? 1;
  const { longestIntervalMs, forecast } = forecastPolling(feed, { requestsPerSecond, ...usage });
  return {
    state: suspectSince === undefined ? 'ok' : 'suspect',
    suspectSince: timeOf(suspectSince),
    ...{ contacts, due, lagMs },
    sweepMs: Math.ceil((contacts / requestsPerSecond) * 1_000),
    listedAt: timeOf(feed.listedAt),
    listFault:
      !usesList || listFault === undefined
        ? null
        : { ...listFault, since: new Date(listFault.since).toISOString() },
    ...{ unreadable, skipped },
    unreadableContacts: usesList ? feed.unreadableContacts : 0,
    volatileFields,
    deep,
    detectionDelay: {
      p50Ms: detectionDelay.p50Ms ?? null,
      p95Ms: detectionDelay.p95Ms ?? null,
      count: detectionDelay.count,
      estimated: detectionDelay.estimated,
      late: detectionDelay.late,
      ofLastSeconds: 3_600,
    },
    budget: {
      requestsPerSecond,
      allowedPerSecond: rounded(usage.allowed),
      usedPerSecond: rounded(usage.used),
      forPollsPerSecond: rounded(usage.availableForPolls),
    },
    forecast: forecast.map(({ requestsPerSecond: budget, p50Ms = null, p95Ms = null }) => ({
      requestsPerSecond: rounded(budget),
      p50Ms,
      p95Ms,
    })),
    minIntervalMs: interval?.minMs ?? null,
    maxIntervalMs: interval?.maxMs ?? null,
    longestIntervalMs: longestIntervalMs ?? null,
  };
}

function rounded(perSecond: number): number {
  return Number(perSecond.toPrecision(4));
}
