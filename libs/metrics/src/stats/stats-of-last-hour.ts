import { type CountName, minuteNumberAt, createZeroCounts, startOfMinuteMs } from './minute-counts.js';
import type { Backlog } from './stats-recorder.js';
import { type StoredStats, STATISTICS_PERIOD_MINUTES } from './stats-store.js';

/** A value per minute, oldest first. 0 means that nothing happened. */
type Series = number[];
/** A value per minute, oldest first. Null means that nothing was measured. */
type SparseSeries = (number | null)[];

/** Mean and maximum of a delay per minute, in milliseconds. */
export interface DelaySeries {
  mean: SparseSeries;
  max: SparseSeries;
}

/** Statistics of an account in the last hour, by minute. All lists have the same length. */
export interface StatsOfLastHour {
  /** Start of the first minute, in ISO 8601. */
  from: string;
  /** When the statistics were read, in ISO 8601. */
  to: string;
  stepSeconds: number;
  /** Start of each minute in ISO 8601, oldest first. The last minute is the current, incomplete minute. */
  minutes: string[];
  sends: Record<'created' | 'accepted' | 'sent' | 'failed' | 'unknown' | 'expired', Series>;
  events: Record<'total' | 'received', Series>;
  deliveries: Record<'succeeded' | 'failedAttempts' | 'failed', Series>;
  detectionDelayMs: DelaySeries;
  deliveryDelayMs: DelaySeries;
  requests: Record<'used' | 'throttled' | 'failed', Series>;
  backlog: Record<'sends' | 'deliveries', SparseSeries>;
}

/**
 * Computes the statistics of an account from its counts. Pure function.
 * @param backlog the present numbers of waiting sends and deliveries, which are shown for the current minute
 */
export function statsOfLastHour({ now, minutes: kept }: StoredStats, backlog: Backlog): StatsOfLastHour {
  const last = minuteNumberAt(now);
  const minutes = Array.from(
    { length: STATISTICS_PERIOD_MINUTES },
    (_, i) => last - STATISTICS_PERIOD_MINUTES + 1 + i,
  );
  const counts = minutes.map((minute) => kept.get(minute) ?? createZeroCounts());
  const starts = minutes.map((minute) => new Date(startOfMinuteMs(minute)).toISOString());
  const series = (name: CountName): Series => counts.map((minute) => minute[name]);
  const delay = (kind: 'detection' | 'delivery'): DelaySeries => ({
    mean: counts.map((minute) => {
      const count = minute[`${kind}Delays`];
      return count === 0 ? null : Math.round(minute[`${kind}DelaySumMs`] / count);
    }),
    max: counts.map((minute) => (minute[`${kind}Delays`] === 0 ? null : minute[`${kind}DelayMaxMs`])),
  });
  const sampled = (name: CountName, present: number): SparseSeries => [
    ...counts.slice(0, -1).map((minute) => (minute.backlogSamples === 0 ? null : minute[name])),
    present,
  ];
  return {
    from: starts[0] ?? '',
    to: new Date(now).toISOString(),
    stepSeconds: 60,
    minutes: starts,
    sends: {
      created: series('sendsCreated'),
      accepted: series('sendsAccepted'),
      sent: series('sendsSent'),
      failed: series('sendsFailed'),
      unknown: series('sendsUnknown'),
      expired: series('sendsExpired'),
    },
    events: { total: series('eventsTotal'), received: series('eventsReceived') },
    deliveries: {
      succeeded: series('deliveriesSucceeded'),
      failedAttempts: series('deliveryAttemptsFailed'),
      failed: series('deliveriesFailed'),
    },
    detectionDelayMs: delay('detection'),
    deliveryDelayMs: delay('delivery'),
    requests: {
      used: series('requestsUsed'),
      throttled: series('requestsThrottled'),
      failed: series('requestsFailed'),
    },
    backlog: {
      sends: sampled('backlogSends', backlog.sends),
      deliveries: sampled('backlogDeliveries', backlog.deliveries),
    },
  };
}
