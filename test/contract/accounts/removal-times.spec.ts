import { describe, expect, it } from '@jest/globals';
import { GatewayEnvironment, readEnvironment, WorkerEnvironment } from '#platform';
import { LIMITS } from '../../../apps/gateway/src/http/limits.js';
import { maxWorkDurationOf } from '../../../apps/worker/src/removal/removal.module.js';

const REQUIRED = {
  REDIS_URL: 'redis://127.0.0.1:6379',
  ENCRYPTION_KEY: Buffer.alloc(32, 3).toString('base64'),
  UPSTREAM_BASE_URL: 'https://upstream.example.com/v1',
  UPSTREAM_API_KEY: 'upstream-key',
  API_KEY: 'an-api-key-of-a-test',
};

function maxWorkDuration(variables: Readonly<Record<string, string | undefined>> = {}): number {
  return maxWorkDurationOf(readEnvironment(WorkerEnvironment, { ...REQUIRED, ...variables }));
}

describe('the id of a removed account stays reserved', () => {
  it.each([
    ['an upload', {}, LIMITS.requestMs],
    ['an upstream request', { UPSTREAM_TIMEOUT_MS: '900000' }, 900_000],
    ['a delivery', { WEBHOOK_TIMEOUT_MS: '900001' }, 900_001],
  ])('for longer than %s of the account can take', (_, variables, durationMs) => {
    expect(maxWorkDuration(variables)).toBeGreaterThan(durationMs);
  });

  it('for longer than a gateway can cache what it read from upstream for the account', () => {
    const cached = { ...REQUIRED, READ_CACHE_MS: String(maxWorkDuration()) };
    expect(() => readEnvironment(GatewayEnvironment, cached)).toThrow('READ_CACHE_MS');
  });
});
