import { expect, it } from '@jest/globals';
import { TIMELINE_PAGE_READ_TIME_LIMIT_MS } from '#conversations';
import { createLogger } from '#platform';
import { createServer } from './server.js';

/** Returns the idle timeout of the server, in milliseconds. */
function silenceMs(upstreamTimeoutMs: number): number {
  const logger = createLogger('gateway', 'silent', { write: () => undefined });
  return createServer(logger, { uploadMaxBytes: 1, upstreamTimeoutMs, origins: [] }).getInstance().server
    .timeout;
}

it('the idle timeout of a connection is longer than the longest read of a timeline page, including its last upstream request', () => {
  for (const upstreamTimeoutMs of [1, 10_000, 30_000, 60_000])
    expect(silenceMs(upstreamTimeoutMs)).toBeGreaterThanOrEqual(
      TIMELINE_PAGE_READ_TIME_LIMIT_MS + upstreamTimeoutMs + 10_000,
    );
});

it('the idle timeout of a connection is longer than the upstream timeout, so that a caller gets 504 before it is disconnected', () => {
  expect(silenceMs(10_000)).toBe(60_000);
  for (const upstreamTimeoutMs of [60_000, 300_000])
    expect(silenceMs(upstreamTimeoutMs)).toBeGreaterThanOrEqual(upstreamTimeoutMs + 10_000);
  // A timer in Node.js fires after 1 ms if its delay exceeds the maximum.
  expect(silenceMs(2_147_483_647)).toBe(2_147_483_647);
});
