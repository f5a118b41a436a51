import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import type { Attempt, Delivery } from '../delivery/delivery.js';
import { FailingEndpointDisabler } from './failing-endpoint-disabler.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.parse('2026-11-28T12:00:00.000Z');

function attempt(minutesAgo: number): Attempt {
  const at = new Date(NOW - minutesAgo * MINUTE).toISOString();
  return { at, durationMs: 1, statusCode: 500, reply: '', error: null };
}

/**
 * Makes the second attempt of a delivery to an endpoint that has failed for 121 hours. Resolves to true if the attempt
 * disables the endpoint.
 * @param minutesAgo when the first attempt of the delivery began
 */
async function isDisabled(minutesAgo: number, disableAfterMs = 120 * HOUR): Promise<boolean> {
  const disabled: string[] = [];
  const stored: Pick<Delivery, 'attempts'> = { attempts: [attempt(9_000), attempt(minutesAgo), attempt(0)] };
  const disabler = new FailingEndpointDisabler(
    { find: () => Promise.resolve(stored as Delivery), endPending: () => Promise.resolve() },
    {
      find: () => Promise.resolve(undefined),
      disable: (_, id) => Promise.resolve(disabled.push(id) > 0),
    },
    disableAfterMs,
    createLogger('test', 'silent'),
  );
  await disabler.endIfFailing(
    'a',
    { id: 'e', url: 'https://e' },
    {
      ...{ id: 'd', claimId: 'c', endpointId: 'e', url: 'https://e', eventId: 'v' },
      // The first stored attempt was made before a replay, which restarted the retry schedule.
      ...{ defaultConcurrency: 20, attempts: 1, body: '{}' },
    },
    {
      attempt: attempt(0),
      decision: { kind: 'retry', waitMs: 1 },
      throttling: { slowsDown: false, pauseMs: 0 },
    },
    { isRecorded: true, hasMore: false, failingMs: 121 * HOUR },
  );
  return disabled.length > 0;
}

describe('a webhook whose attempts have all failed for the configured time', () => {
  it('is disabled by a delivery whose own attempts have failed for an hour, long before its last retry', async () => {
    expect(await isDisabled(59)).toBe(false);
    expect(await isDisabled(61)).toBe(true);
  });

  it('is disabled by a delivery whose own attempts have failed for the configured time, if that is less than an hour', async () => {
    expect(await isDisabled(9, 10 * MINUTE)).toBe(false);
    expect(await isDisabled(11, 10 * MINUTE)).toBe(true);
  });
});
