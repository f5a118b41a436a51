import type { EventRetention } from '#events';
import type { FeedSettings } from '#feed';
import type { WorkerEnvironment } from '#platform';
import type { RelaySettings } from '#relay';
import type { DeliveryRetention, DeliveryWorkerSettings } from '#webhooks';

const HOUR_MS = 3_600_000;

/** How long finished sends of an account are kept, in milliseconds, and how many are kept at most. */
export interface SendRetention {
  maxAgeMs: number;
  maxCount: number;
}

export function relaySettingsFrom(environment: WorkerEnvironment): RelaySettings {
  return {
    retryScheduleSeconds: environment.SEND_RETRY_SCHEDULE_SECONDS,
    safeStatuses: environment.SEND_SAFE_STATUSES,
    maxAgeMs: environment.SEND_MAX_AGE_SECONDS * 1000,
    confirmMs: environment.SEND_CONFIRM_MS,
    confirmMediaMs: environment.SEND_CONFIRM_MEDIA_MS,
    onUnknown: environment.SEND_ON_UNKNOWN,
    postTimeoutMs: environment.UPSTREAM_TIMEOUT_MS,
  };
}

export function sendRetentionFrom(environment: WorkerEnvironment): SendRetention {
  return {
    maxAgeMs: environment.SEND_RETENTION_HOURS * HOUR_MS,
    maxCount: environment.SEND_RETENTION_MAX,
  };
}

export function deliverySettingsFrom(environment: WorkerEnvironment): DeliveryWorkerSettings {
  return {
    maxConcurrency: environment.WEBHOOK_MAX_CONCURRENCY,
    disableAfterMs: environment.WEBHOOK_DISABLE_AFTER_HOURS * HOUR_MS,
    timeoutMs: environment.WEBHOOK_TIMEOUT_MS,
  };
}

export function deliveryRetentionFrom(environment: WorkerEnvironment): DeliveryRetention {
  return {
    maxAgeMs: environment.DELIVERY_RETENTION_HOURS * HOUR_MS,
    maxCount: environment.DELIVERY_RETENTION_MAX,
  };
}

export function eventRetentionFrom(environment: WorkerEnvironment): EventRetention {
  return {
    maxAgeMs: environment.EVENT_RETENTION_HOURS * HOUR_MS,
    maxCount: environment.EVENT_RETENTION_MAX,
  };
}

export function pollSettingsFrom(
  environment: WorkerEnvironment,
): Pick<FeedSettings, 'interval' | 'undated' | 'settleMs' | 'sweepMs'> {
  return {
    interval: { min: environment.POLL_MIN_INTERVAL_MS, max: environment.POLL_MAX_INTERVAL_MS },
    undated: environment.POLL_BASELINE,
    settleMs: environment.POLL_SETTLE_HOURS * HOUR_MS,
    sweepMs: environment.POLL_SWEEP_INTERVAL_MS,
  };
}
