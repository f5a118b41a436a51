import { accountKeys, LuaScript, type RedisClient } from '#platform';
import { BACKLOG_LUA_CONSTANTS } from './backlog-constants.js';
import type { EndpointHealth, EndpointHealthReader } from '../endpoint/endpoint-health.js';

const endpointHealthScript = LuaScript.from(
  import.meta.url,
  'lua/endpoint-health.lua',
  BACKLOG_LUA_CONSTANTS,
);

/** Implements {@link EndpointHealthReader} with the Redis fields that the delivery scripts update at each attempt. */
export class RedisEndpointHealth implements EndpointHealthReader {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {}

  async read(account: string, endpointIds: readonly string[]): Promise<EndpointHealth[]> {
    if (endpointIds.length === 0) return [];
    const keys = accountKeys(this.prefix, account);
    const reply = (await endpointHealthScript.run(
      this.redis,
      { webhooks: keys('webhooks') },
      { base: keys(''), endpoints: endpointIds },
    )) as (string | number)[];
    return endpointIds.map((_, i) => ({
      failingSince: instantOf(reply[5 * i]),
      lastSuccessAt: instantOf(reply[5 * i + 1]),
      pausedUntil: instantOf(reply[5 * i + 2]),
      waitingSince: instantOf(reply[5 * i + 3]),
      pending: Number(reply[5 * i + 4]),
    }));
  }
}

function instantOf(ms: string | number | undefined): string | null {
  return ms === undefined || ms === '' ? null : new Date(Number(ms)).toISOString();
}
