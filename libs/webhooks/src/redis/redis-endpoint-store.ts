import { APPEND_EVENTS, eventArguments, logKeys, type NewEvent } from '#events';
import { accountKeys, type AccountKeys, type Clock, type RedisClient, RedisScript } from '#platform';
import {
  type EndpointStore,
  filterBytes,
  MOST_ENDPOINTS_OF_ACCOUNT,
  MOST_FILTER_BYTES_OF_ACCOUNT,
} from '../endpoint/endpoint-store.js';
import { publicPart, readEndpoint, type StoredEndpoint, writeEndpoint } from '../endpoint/stored-endpoint.js';
import { WebhookConflictError } from '../endpoint/webhook-conflict.js';

/**
 * What scripts keep of filters: a hash of the bytes of each endpoint's, and a count of the changes in `revision`. What an
 * older build stored is not in the hash: it counts with all of its record but what such a record takes at least.
 */
const FILTERS = `
local RECORD_BYTES = 1024
local function keep_filters(webhooks, filters, id, bytes)
  local others = 0
  for _, other in ipairs(redis.call('HKEYS', webhooks)) do
    if other ~= id then
      local known = redis.call('HGET', filters, other)
      others = others + (known or math.max(redis.call('HSTRLEN', webhooks, other) - RECORD_BYTES, 0))
    end
  end
  if others + bytes > ${MOST_FILTER_BYTES_OF_ACCOUNT} then return false end
  redis.call('HSET', filters, id, bytes)
  return true
end
`;

/**
 * What was recorded before it is its first gap. KEYS: endpoints, the log's counters, gaps, filters, revision. ARGV: id,
 * endpoint, bytes of its filter. Answers 'added', or what there was no room for.
 */
const add = new RedisScript(`${FILTERS}
local webhooks, counters, gaps, id, endpoint = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
if redis.call('HLEN', webhooks) >= ${MOST_ENDPOINTS_OF_ACCOUNT} then return 'endpoints' end
local bytes = tonumber(ARGV[3])
if bytes > 0 and not keep_filters(webhooks, KEYS[4], id, bytes) then return 'filters' end
redis.call('HSET', KEYS[4], id, bytes)
redis.call('INCR', KEYS[5])
redis.call('HSET', webhooks, id, endpoint)
local last = redis.call('HGET', counters, 'last')
if last then redis.call('RPUSH', gaps, '0-0 ' .. last) end
return 'added'
`);

/** Removes the endpoint and puts it on the agenda, so that its deliveries end even if this process does. */
const remove = new RedisScript(`
local webhooks, agenda, id = KEYS[1], KEYS[2], ARGV[1]
local removed = redis.call('HDEL', webhooks, id)
if removed == 1 then
  redis.call('ZADD', agenda, 0, id)
  redis.call('HDEL', KEYS[3], id)
  redis.call('INCR', KEYS[4])
end
return removed
`);

/**
 * Replaces an endpoint that is still the expected one, and records what that means. It comes onto the agenda, so that
 * what follows from the change happens even if this process ends.
 * KEYS: the log's, endpoints, agenda, the endpoint's pace, its pace as older builds have it, filters, revision. ARGV: id,
 * expected, replacement, bytes of its filter, whether that grows, whether it is enabled or disabled, events. Answers 'replaced', 'other' where it is not the
 * expected one, or 'filters' where there is no room for its filter.
 */
const replace = new RedisScript(`${APPEND_EVENTS}${FILTERS}
local webhooks, agenda, id, expected, replacement = KEYS[4], KEYS[5], ARGV[1], ARGV[2], ARGV[3]
if redis.call('HGET', webhooks, id) ~= expected then return 'other' end
local bytes = tonumber(ARGV[4])
if ARGV[5] == '1' and not keep_filters(webhooks, KEYS[8], id, bytes) then return 'filters' end
redis.call('HSET', KEYS[8], id, bytes)
redis.call('INCR', KEYS[9])
redis.call('HSET', webhooks, id, replacement)
redis.call('ZADD', agenda, 0, id)
-- Who enables an endpoint again gives it a new chance.
if ARGV[6] == '1' then
  redis.call('DEL', KEYS[6])
  -- What an older build left, unless it keeps those from claiming: see redis-older-builds.ts.
  if redis.call('HEXISTS', KEYS[7], 'moved') == 0 then redis.call('DEL', KEYS[7]) end
end
append_events(7)
return 'replaced'
`);

/** KEYS: endpoints. ARGV: id, expected, replacement. Answers whether it was still the expected one. */
const rewrite = new RedisScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`);

/** {@link EndpointStore} as one hash an account. */
export class RedisEndpointStore implements EndpointStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly clock: Clock,
  ) {}

  async add(account: string, endpoint: StoredEndpoint): Promise<void> {
    const keys = this.keys(account);
    const [, , counters] = logKeys(keys);
    const added = await add.run(
      this.redis,
      [keys('webhooks'), counters, keys('endpoint', endpoint.id, 'gaps'), ...filterKeys(keys)],
      [endpoint.id, writeEndpoint(endpoint), filterBytes(endpoint.contactIds)],
    );
    if (added === 'filters') throw filtersConflict();
    if (added !== 'added') {
      throw new WebhookConflictError(
        `The account has ${MOST_ENDPOINTS_OF_ACCOUNT} webhooks, and no more are kept. Delete one first.`,
      );
    }
  }

  async list(account: string): Promise<StoredEndpoint[]> {
    const stored = await this.redis.hvals(this.keys(account)('webhooks'));
    return stored.map(readEndpoint);
  }

  async revision(account: string): Promise<string> {
    const keys = this.keys(account);
    const [, revision] = filterKeys(keys);
    // An older build counts no changes: what it added is seen by the number.
    const [changes, count] = await Promise.all([this.redis.get(revision), this.redis.hlen(keys('webhooks'))]);
    return `${changes ?? ''}/${count}`;
  }

  async find(account: string, id: string): Promise<StoredEndpoint | undefined> {
    const stored = await this.redis.hget(this.keys(account)('webhooks'), id);
    return stored === null ? undefined : readEndpoint(stored);
  }

  async remove(account: string, id: string): Promise<boolean> {
    const keys = this.keys(account);
    const [webhooks, agenda] = [keys('webhooks'), keys('webhooks', 'agenda')];
    return (await remove.run(this.redis, [webhooks, agenda, ...filterKeys(keys)], [id])) === 1;
  }

  async change(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
  ): Promise<StoredEndpoint | undefined> {
    return this.replace(account, id, change, () => []);
  }

  async rewrite(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
  ): Promise<StoredEndpoint | undefined> {
    const webhooks = this.keys(account)('webhooks');
    // Each round that fails means that somebody else changed the endpoint: that ends.
    for (;;) {
      const expected = await this.redis.hget(webhooks, id);
      if (expected === null) return undefined;
      const after = change(readEndpoint(expected));
      const args = [id, expected, writeEndpoint(after)];
      if ((await rewrite.run(this.redis, [webhooks], args)) === 1) return after;
    }
  }

  async disable(account: string, id: string, reason: string, url?: string): Promise<boolean> {
    const after = await this.replace(
      account,
      id,
      (before) =>
        before.enabled && before.url === (url ?? before.url)
          ? { ...before, enabled: false, disabledReason: reason }
          : undefined,
      (disabled) => [
        {
          type: 'webhook.disabled',
          subject: `webhook:${id}`,
          revision: disabled.revision,
          data: { webhook: publicPart(disabled), reason },
        },
      ],
    );
    return after !== undefined;
  }

  /** Replaces an endpoint and records what that means, in one step; undefined where there is nothing to be replaced. */
  private async replace(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint | undefined,
    eventsOf: (after: StoredEndpoint) => NewEvent[],
  ): Promise<StoredEndpoint | undefined> {
    const keys = this.keys(account);
    // Each round that fails means that somebody else changed the endpoint: that ends.
    for (;;) {
      const expected = await this.redis.hget(keys('webhooks'), id);
      const before = expected === null ? undefined : readEndpoint(expected);
      const changed = before === undefined ? undefined : change(before);
      if (expected === null || before === undefined || changed === undefined) return undefined;
      const updatedAt = new Date(this.clock.now()).toISOString();
      const after: StoredEndpoint = { ...changed, updatedAt, revision: changed.revision + 1 };
      const done = await replace.run(
        this.redis,
        [
          ...logKeys(keys),
          ...[keys('webhooks'), keys('webhooks', 'agenda')],
          ...[keys('endpoint', id, 'speed'), keys('endpoint', id, 'pace')],
          ...filterKeys(keys),
        ],
        [
          id,
          expected,
          writeEndpoint(after),
          ...bytesOf(before, after),
          before.enabled === after.enabled ? 0 : 1,
          ...eventArguments(account, eventsOf(after)),
        ],
      );
      if (done === 'filters') throw filtersConflict();
      if (done === 'replaced') return after;
    }
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}

function filterKeys(keys: AccountKeys): [filters: string, revision: string] {
  return [keys('webhooks', 'filters'), keys('webhooks', 'revision')];
}

/** Of a filter, and whether it grows: who changes something else is not refused for what the account has already. */
function bytesOf(before: StoredEndpoint, after: StoredEndpoint): [bytes: number, grows: 0 | 1] {
  const bytes = filterBytes(after.contactIds);
  return [bytes, bytes > filterBytes(before.contactIds) ? 1 : 0];
}

function filtersConflict(): WebhookConflictError {
  return new WebhookConflictError(
    `contactIds: all webhooks of an account may name at most ${MOST_FILTER_BYTES_OF_ACCOUNT} bytes of contact ids, and ` +
      'with these they would name more. Name fewer, here or in another webhook, or leave contactIds out and choose at the receiver.',
  );
}
