import { expect, it } from '@jest/globals';
import { readEnvironment, WorkerEnvironment } from '#platform';
import {
  deliveryRetentionFrom,
  deliverySettingsFrom,
  eventRetentionFrom,
  pollSettingsFrom,
  relaySettingsFrom,
  sendRetentionFrom,
} from './settings.js';

it('every variable of the worker that limits sends, deliveries, events or polls sets the limit that it documents', () => {
  // Every value differs from all others and from the default.
  const environment = readEnvironment(WorkerEnvironment, {
    REDIS_URL: 'redis://127.0.0.1:6379',
    ENCRYPTION_KEY: Buffer.alloc(32, 3).toString('base64'),
    UPSTREAM_BASE_URL: 'https://upstream.example.com/v1',
    UPSTREAM_API_KEY: 'upstream-key',
    UPSTREAM_TIMEOUT_MS: '9001',
    SEND_RETRY_SCHEDULE_SECONDS: '2,4',
    SEND_SAFE_STATUSES: '429,503',
    SEND_MAX_AGE_SECONDS: '9002',
    SEND_CONFIRM_MS: '9003',
    SEND_CONFIRM_MEDIA_MS: '9004',
    SEND_ON_UNKNOWN: 'resend',
    SEND_RETENTION_HOURS: '25',
    SEND_RETENTION_MAX: '9005',
    WEBHOOK_MAX_CONCURRENCY: '7',
    WEBHOOK_DISABLE_AFTER_HOURS: '26',
    WEBHOOK_TIMEOUT_MS: '9006',
    DELIVERY_RETENTION_HOURS: '27',
    DELIVERY_RETENTION_MAX: '9007',
    EVENT_RETENTION_HOURS: '28',
    EVENT_RETENTION_MAX: '9008',
    POLL_MIN_INTERVAL_MS: '9009',
    POLL_MAX_INTERVAL_MS: '9010',
    POLL_BASELINE: 'emit',
    POLL_SETTLE_HOURS: '29',
    POLL_SWEEP_INTERVAL_MS: '9011',
  });
  expect({
    relay: relaySettingsFrom(environment),
    sendRetention: sendRetentionFrom(environment),
    deliveries: deliverySettingsFrom(environment),
    deliveryRetention: deliveryRetentionFrom(environment),
    eventRetention: eventRetentionFrom(environment),
    polls: pollSettingsFrom(environment),
  }).toEqual({
    relay: {
      retryScheduleSeconds: [2, 4],
      safeStatuses: [429, 503],
      maxAgeMs: 9_002_000,
      confirmMs: 9_003,
      confirmMediaMs: 9_004,
      onUnknown: 'resend',
      postTimeoutMs: 9_001,
    },
    sendRetention: { maxAgeMs: 25 * 3_600_000, maxCount: 9_005 },
    deliveries: { maxConcurrency: 7, disableAfterMs: 26 * 3_600_000, timeoutMs: 9_006 },
    deliveryRetention: { maxAgeMs: 27 * 3_600_000, maxCount: 9_007 },
    eventRetention: { maxAgeMs: 28 * 3_600_000, maxCount: 9_008 },
    polls: {
      interval: { min: 9_009, max: 9_010 },
      undated: 'emit',
      settleMs: 29 * 3_600_000,
      sweepMs: 9_011,
    },
  });
});
