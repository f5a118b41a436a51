import type { Mutant } from './mutants.js';

/** A deliberate fault in the product that one spec must find. */
export interface SpecMutant extends Mutant {
  /** The spec, relative to the checkout. */
  spec: string;
  /** Part of the names of the tests of the spec that run; empty for all of them. */
  test: string;
}

const broken = (
  name: string,
  [spec, test = '']: readonly [spec: string, test?: string],
  file: string,
  ...changes: readonly (readonly [from: string, to: string])[]
): SpecMutant => ({ name, spec, test, patches: changes.map(([from, to]) => ({ file, from, to })) });

/** Faults of a line or two that break a promise of the product, each with the spec that proves the promise. */
export const PROMISE_MUTANTS: readonly SpecMutant[] = [
  broken(
    'a restricted token gets the sends of other contacts from streams and long polls',
    ['apps/gateway/src/browser-tokens/restricted-tokens.spec.ts', 'a long poll'],
    'libs/events/src/event-log.ts',
    ['  if (accepts === undefined) return matching;', '  if (accepts !== null) return matching;'],
  ),
  broken(
    'a restricted token gets the sends of other contacts by `last`',
    ['apps/gateway/src/browser-tokens/restricted-tokens.spec.ts', 'get /v1/events,'],
    'libs/events/src/event-log.ts',
    ['  if (accepts === undefined) return matching;', '  if (accepts !== null) return matching;'],
  ),
  broken(
    'the contacts of a phone number are shared by all accounts',
    ['apps/gateway/src/auth/contact-access.spec.ts'],
    'apps/gateway/src/auth/contact-access.ts',
    ['    const name = `${account}\\n${phoneNumber}`;', '    const name = phoneNumber;'],
  ),
  broken(
    'equal timeline requests of two accounts share one reply',
    ['apps/gateway/src/conversations/timeline.controller.spec.ts'],
    'apps/gateway/src/conversations/timeline.controller.ts',
    [
      '    const key = JSON.stringify([caller.account, id, contactId, phoneNumbers, limit, cursor]);',
      '    const key = JSON.stringify([id, contactId, phoneNumbers, limit, cursor]);',
    ],
  ),
  broken(
    'the cached messages of an unsorted contact are shared by all accounts',
    ['libs/conversations/src/timeline/timeline.spec.ts', 'of each account separate'],
    'libs/conversations/src/timeline/unsorted-message-list-reader.ts',
    ['  return JSON.stringify([account, contactId]);', '  return JSON.stringify([contactId]);'],
  ),
  broken(
    'the sends of a read that was not committed are kept for all accounts',
    ['libs/feed/src/poll/read-binder.spec.ts'],
    'libs/feed/src/poll/read-binder.ts',
    ['  return `${account}\\n${contactId}`;', '  return contactId;'],
  ),
  broken(
    'a POST goes to an address that was not checked',
    ['libs/upstream/src/account/budgeted-upstream.spec.ts', 'only one upstream address'],
    'libs/upstream/src/account/budgeted-upstream.ts',
    [
      '    if (expectedAddress !== undefined && hashUpstreamAddress(found.baseUrl) !== expectedAddress)',
      '    if (expectedAddress === "")',
    ],
  ),
  broken(
    'the worker does not pass on the checked address',
    ['test/contract/relay/moved-upstream.spec.ts', 'right before the POST'],
    'apps/worker/src/relay/account-sender.ts',
    [
      '    return this.upstream.post(account, send, limit, token, address);',
      '    return this.upstream.post(account, send, limit, token, undefined);',
    ],
  ),
  broken(
    'a send for another address is posted if the contact list cannot be read',
    ['test/contract/relay/moved-upstream.spec.ts', 'contact list cannot be read'],
    'libs/relay/src/lane/lane-runner.ts',
    [
      "    const isSafe = result === 'unreachable' || (result === 'failed' && isStoredForAddress);",
      "    const isSafe = result === 'unreachable' || result === 'failed' || isStoredForAddress;",
    ],
  ),
  broken(
    'a send is posted after a wait for a token although Redis restarted',
    ['test/contract/relay/redis-restarts.spec.ts', 'not posted by that worker'],
    'libs/relay/src/lane/send-fencer.ts',
    [
      `        redisRun: 'mustMatch',
        name,`,
      '        name,',
    ],
  ),
  broken(
    'a send expires although Redis lost the record of its POST',
    ['test/contract/relay/redis-restarts.spec.ts', 'not expired by that worker'],
    'libs/relay/src/send/send-expiry.ts',
    [
      `    redisRun: 'mustMatch',
  };`,
      '  };',
    ],
  ),
  broken(
    'a late answer to the first POST decides the look-up of the second',
    ['test/contract/relay/ambiguous-posts.spec.ts', 'late answer'],
    'libs/relay/src/lane/post-outcome-recorder.ts',
    [
      "  return state.phase === 'looking' && state.thenPost !== true && state.begunAt === posted.state.begunAt;",
      "  return state.phase === 'looking' && state.thenPost !== true && posted.state.begunAt !== 0;",
    ],
  ),
  broken(
    'after a restart a send is posted while an earlier POST may still run',
    ['test/contract/relay/redis-restarts.spec.ts', 'confirmation period is shorter'],
    'libs/relay/src/lane/send-lookup-runner.ts',
    [
      `    const periodMs = Math.max(
      confirmationPeriodMs(record.order, this.settings),
      postRequestLeaseMs(this.settings),
    );`,
      '    const periodMs = confirmationPeriodMs(record.order, this.settings);',
    ],
  ),
  broken(
    'three 403 answers hold an account even if upstream accepted a send between them',
    ['test/contract/relay/held-account.spec.ts', 'three 403'],
    'libs/upstream/src/account/budgeted-upstream.ts',
    [
      '        if (!isTakenElsewhere) await this.watcher',
      '        if (tokenRenewal === undefined) await this.watcher',
    ],
  ),
  broken(
    'reads of callers take tokens of the class of sends',
    ['libs/upstream/src/account/budgeted-upstream.spec.ts', 'own class'],
    'libs/upstream/src/account/budgeted-upstream.ts',
    [
      "    const address = await this.tokens.accountWithToken(account, 'read');",
      "    const address = await this.tokens.accountWithToken(account, 'lookup');",
    ],
  ),
  broken(
    'an expired token gives two tokens back',
    ['libs/upstream/src/account/budgeted-upstream.spec.ts', 'exactly one token'],
    'libs/upstream/src/account/budget-token-acquirer.ts',
    [
      '    return createBudgetTokenRenewal(await acquire(0), () => acquire(1));',
      '    return createBudgetTokenRenewal(await acquire(0), () => acquire(2));',
    ],
  ),
  broken(
    'a token is valid for a second instead of 100 ms',
    ['test/contract/upstream/request-budget.spec.ts', 'requests per second grants'],
    'libs/upstream/src/budget/request-budget.ts',
    ['export const BUDGET_TOKEN_TTL_MS = 100;', 'export const BUDGET_TOKEN_TTL_MS = 1_000;'],
  ),
  broken(
    'the budget allows for only half of the maximum difference of the delays of two requests',
    ['test/contract/upstream/request-budget.spec.ts', 'requests per second grants'],
    'libs/upstream/src/budget/lua/includes/token-bucket.lua',
    [
      'local TOKEN_JITTER, TOKEN_HALF_LIFE_MS, TOKEN_DEEP_SHARE = 0.2, 10000, 0.01',
      'local TOKEN_JITTER, TOKEN_HALF_LIFE_MS, TOKEN_DEEP_SHARE = 0.1, 10000, 0.01',
    ],
  ),
  broken(
    'upstream may receive two requests of a small budget too soon after each other',
    ['test/contract/upstream/request-budget.spec.ts', 'requests per second grants'],
    'libs/upstream/src/budget/lua/includes/token-bucket.lua',
    [
      '  b.gap = 1 / b.rate + math.max(0, TOKEN_JITTER + math.min(1 / b.rate - 1, 0))',
      '  b.gap = 1 / b.rate',
    ],
  ),
  broken(
    'deliveries are created without the lease on the log',
    ['apps/worker/src/dispatch/event-log-reader.spec.ts', 'under its lease'],
    'apps/worker/src/dispatch/event-log-reader.ts',
    [
      '        await this.dispatcher.dispatch(account, reading.events, lease);',
      '        await this.dispatcher.dispatch(account, reading.events);',
    ],
  ),
  broken(
    'a short Retry-After replaces a longer one',
    ['test/contract/webhooks/pace.spec.ts', 'longest Retry-After'],
    'libs/webhooks/src/redis/lua/includes/pace.lua',
    [
      "  if NOW + ms > held then redis.call('HSET', pace(endpoint), 'heldUntil', whole(NOW + ms)) end",
      "  if ms > 0 then redis.call('HSET', pace(endpoint), 'heldUntil', whole(NOW + ms)) end",
    ],
  ),
  broken(
    'the address of the connected receiver is not checked',
    ['libs/webhooks/src/destination/http-delivery-client.spec.ts', 'operating system'],
    'libs/webhooks/src/destination/http-guarded-pool.ts',
    [
      "      const peerRefusal = guard.refusal(protocol, socket.remoteAddress ?? 'the unknown peer');",
      '      const peerRefusal = undefined as string | undefined;',
    ],
  ),
  broken(
    'a list that was read before a failover is committed after it',
    ['test/contract/feed/losses.spec.ts', 'before the loss'],
    'libs/feed/src/redis/lua/commit-contacts.lua',
    [
      `if redis_run() ~= run then return 0 end
-- The service of the address is stored together with the first part of the list. If a crash prevents the commit of`,
      '-- The service of the address is stored together with the first part of the list. If a crash prevents the commit of',
    ],
  ),
  broken(
    'a reader misses events that are removed during its read',
    ['test/contract/events/event-log.spec.ts', 'during a read'],
    'libs/events/src/redis-event-log.ts',
    [
      '    const { events, position, hasMore } = await this.scan(',
      `    const { epoch, trimmed } = await this.state(account);
    const { events, position, hasMore } = await this.scan(`,
    ],
    [
      `    const { epoch, trimmed } = await this.state(account);
    if (after !== undefined && (after.epoch !== epoch || isLogPositionBefore(after.position, trimmed))) {`,
      '    if (after !== undefined && (after.epoch !== epoch || isLogPositionBefore(after.position, trimmed))) {',
    ],
  ),
  broken(
    'the file of a send is not flushed',
    ['test/contract/relay/blob-store.spec.ts', 'flushed'],
    'libs/blobs/src/file-blob-store.ts',
    [
      `      await this.written(() => file.sync());
      await this.written(() => file.close());`,
      '      await this.written(() => file.close());',
    ],
  ),
  broken(
    'files of a new account with a reused id are removed',
    ['test/contract/accounts/account-removal.spec.ts', 'no file of a new account'],
    'apps/worker/src/removal/account-removal.ts',
    [
      '      if (files.length === 0 || !(await this.isRemoved(account))) return count;',
      '      if (files.length === 0) return count;',
    ],
  ),
  broken(
    'a worker that stops waits too long for receivers',
    ['apps/worker/src/dispatch/dispatch.module.spec.ts'],
    'apps/worker/src/dispatch/dispatch.module.ts',
    ['const DRAIN_MS = 12_000;', 'const DRAIN_MS = 60_000;'],
  ),
];
