import { APPEND_EVENTS, eventArguments, logKeys, type NewEvent } from '#events';
import { accountKeys, type AccountKeys, type Clock, type RedisClient, RedisScript } from '#platform';
import { type EndpointStore, MOST_ENDPOINTS_OF_ACCOUNT } from './endpoint-store.js';
import { publicPart, readEndpoint, type StoredEndpoint, writeEndpoint } from './stored-endpoint.js';
import { WebhookConflictError } from './webhook-conflict.js';

/**
 * What was recorded before it is its first gap. KEYS: endpoints, the log's counters, gaps. ARGV: id, endpoint.
 * Answers whether there was room for it.
 */
const add = new RedisScript(`
local webhooks, counters, gaps, id, endpoint = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
if redis.call('HLEN', webhooks) >= ${MOST_ENDPOINTS_OF_ACCOUNT} then return 0 end
redis.call('HSET', webhooks, id, endpoint)
local last = redis.call('HGET', counters, 'last')
if last then redis.call('RPUSH', gaps, '0-0 ' .. last) end
return 1
`);

/** Removes the endpoint and puts it on the agenda, so that its deliveries end even if this process does. */
const remove = new RedisScript(`
local webhooks, agenda, id = KEYS[1], KEYS[2], ARGV[1]
local removed = redis.call('HDEL', webhooks, id)
if removed == 1 then redis.call('ZADD', agenda, 0, id) end
return removed
`);

/**
 * Replaces an endpoint that is still the expected one, and records what that means. It comes onto the agenda, so that
 * what follows from the change happens even if this process ends.
 * KEYS: the log's, endpoints, agenda, the endpoint's pace, its pace as older builds have it. ARGV: id, expected, replacement, events.
 */
const replace = new RedisScript(`${APPEND_EVENTS}
local webhooks, agenda, id, expected, replacement = KEYS[4], KEYS[5], ARGV[1], ARGV[2], ARGV[3]
if redis.call('HGET', webhooks, id) ~= expected then return 0 end
redis.call('HSET', webhooks, id, replacement)
redis.call('ZADD', agenda, 0, id)
-- Who enables an endpoint again gives it a new chance.
if cjson.decode(expected).enabled ~= cjson.decode(replacement).enabled then
  redis.call('DEL', KEYS[6])
  -- What an older build left, unless it keeps those from claiming: see redis-older-builds.ts.
  if redis.call('HEXISTS', KEYS[7], 'moved') == 0 then redis.call('DEL', KEYS[7]) end
end
append_events(4)
return 1
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
      [keys('webhooks'), counters, keys('endpoint', endpoint.id, 'gaps')],
      [endpoint.id, writeEndpoint(endpoint)],
    );
    if (added !== 1) {
      throw new WebhookConflictError(
        `The account has ${MOST_ENDPOINTS_OF_ACCOUNT} webhooks, and no more are kept. Delete one first.`,
      );
    }
  }

  async list(account: string): Promise<StoredEndpoint[]> {
    const stored = await this.redis.hvals(this.keys(account)('webhooks'));
    return stored.map(readEndpoint);
  }

  async find(account: string, id: string): Promise<StoredEndpoint | undefined> {
    const stored = await this.redis.hget(this.keys(account)('webhooks'), id);
    return stored === null ? undefined : readEndpoint(stored);
  }

  async remove(account: string, id: string): Promise<boolean> {
    const keys = this.keys(account);
    return (await remove.run(this.redis, [keys('webhooks'), keys('webhooks', 'agenda')], [id])) === 1;
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
      if (expected === null || changed === undefined) return undefined;
      const updatedAt = new Date(this.clock.now()).toISOString();
      const after: StoredEndpoint = { ...changed, updatedAt, revision: changed.revision + 1 };
      const done = await replace.run(
        this.redis,
        [
          ...logKeys(keys),
          ...[keys('webhooks'), keys('webhooks', 'agenda')],
          ...[keys('endpoint', id, 'speed'), keys('endpoint', id, 'pace')],
        ],
        [id, expected, writeEndpoint(after), ...eventArguments(account, eventsOf(after))],
      );
      if (done === 1) return after;
    }
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}
