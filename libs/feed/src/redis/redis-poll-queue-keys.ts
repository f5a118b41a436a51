import type { AccountKeys } from '#platform';
import type { NextDueTime } from '../poll/poll-queue.js';

/** Returns the Redis keys of an account's poll queue: its due contacts and their leases. */
export function pollQueueRedisKeys(keys: AccountKeys): Record<'due' | 'deep' | 'leases' | 'leased', string> {
  return {
    due: keys('polls', 'due'),
    deep: keys('polls', 'deep'),
    leases: keys('polls', 'leases'),
    leased: keys('polls', 'leased'),
  };
}

/** Parses the next due time that the Lua function `with_next_due` in `poll-leases.lua` returns. */
export function parseNextDueTime([at, inMs]: readonly (string | Buffer)[]): NextDueTime {
  return at === undefined || inMs === undefined
    ? {}
    : { nextDueAt: Number(String(at)), nextDueInMs: Number(String(inMs)) };
}
