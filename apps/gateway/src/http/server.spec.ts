import { expect, it } from '@jest/globals';
import { createLogger } from '#platform';
import { createServer } from './server.js';

/** After how many milliseconds of silence the server closes a connection. */
function silenceMs(upstreamTimeoutMs: number): number {
  const logger = createLogger('gateway', 'silent', { write: () => undefined });
  return createServer(logger, { uploadMaxBytes: 1, upstreamTimeoutMs, origins: [] }).getInstance().server
    .timeout;
}

it('a connection outlives the wait for an upstream that hangs, so that its caller is answered 504', () => {
  expect(silenceMs(10_000)).toBe(60_000);
  for (const upstreamTimeoutMs of [60_000, 300_000])
    expect(silenceMs(upstreamTimeoutMs)).toBeGreaterThanOrEqual(upstreamTimeoutMs + 10_000);
  // What no timer could be set to would be no bound, or one of a millisecond.
  expect(silenceMs(2_147_483_647)).toBe(2_147_483_647);
});
