import { appendEventsLuaArguments, eventLogRedisKeys, type NewEvent } from '#events';
import { accountKeys, type AccountKeys, type Clock, LuaScript, type RedisClient } from '#platform';
import {
  type DisableCondition,
  type EndpointStore,
  contactFilterSizeInBytes,
  MAX_ENDPOINTS_PER_ACCOUNT,
  MAX_CONTACT_FILTER_BYTES_PER_ACCOUNT,
} from '../endpoint/endpoint-store.js';
import {
  toPublicEndpoint,
  parseEndpoint,
  type StoredEndpoint,
  serializeEndpoint,
} from '../endpoint/stored-endpoint.js';
import { WebhookStateConflictError } from '../endpoint/webhook-state-conflict.js';

const addEndpointScript = LuaScript.from(import.meta.url, 'lua/add-endpoint.lua');

const removeEndpointScript = LuaScript.from(import.meta.url, 'lua/remove-endpoint.lua');

const replaceEndpointScript = LuaScript.from(import.meta.url, 'lua/replace-endpoint.lua');

const rewriteEndpointScript = LuaScript.from(import.meta.url, 'lua/rewrite-endpoint.lua');

/** Implements {@link EndpointStore} in Redis, with one hash per account. */
export class RedisEndpointStore implements EndpointStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly clock: Clock,
  ) {}

  async add(account: string, endpoint: StoredEndpoint): Promise<void> {
    const keys = this.keys(account);
    const { logCounters } = eventLogRedisKeys(keys);
    const added = await addEndpointScript.run(
      this.redis,
      {
        webhooks: keys('webhooks'),
        logCounters,
        gaps: keys('endpoint', endpoint.id, 'gaps'),
        ...filterKeys(keys),
      },
      {
        id: endpoint.id,
        endpoint: serializeEndpoint(endpoint),
        bytes: contactFilterSizeInBytes(endpoint.contactIds),
        maxEndpoints: MAX_ENDPOINTS_PER_ACCOUNT,
        maxBytes: MAX_CONTACT_FILTER_BYTES_PER_ACCOUNT,
      },
    );
    if (added === 'filters') throw filtersConflict();
    if (added !== 'added') {
      throw new WebhookStateConflictError(
        `The account has reached its limit of ${MAX_ENDPOINTS_PER_ACCOUNT} webhooks. Delete one first.`,
      );
    }
  }

  async list(account: string): Promise<StoredEndpoint[]> {
    const stored = await this.redis.hvals(this.keys(account)('webhooks'));
    return stored.map(parseEndpoint);
  }

  async revision(account: string): Promise<string> {
    const keys = this.keys(account);
    const { revision } = filterKeys(keys);
    // An earlier build changes endpoints without changing the stored revision. The returned text therefore includes
    // the number of endpoints, so that it changes at least when an earlier build adds or removes an endpoint.
    const [changes, count] = await Promise.all([this.redis.get(revision), this.redis.hlen(keys('webhooks'))]);
    return `${changes ?? ''}/${count}`;
  }

  async find(account: string, id: string): Promise<StoredEndpoint | undefined> {
    const stored = await this.redis.hget(this.keys(account)('webhooks'), id);
    return stored === null ? undefined : parseEndpoint(stored);
  }

  async remove(account: string, id: string): Promise<boolean> {
    const keys = this.keys(account);
    const used = { webhooks: keys('webhooks'), agenda: keys('webhooks', 'agenda'), ...filterKeys(keys) };
    return (await removeEndpointScript.run(this.redis, used, { id })) === 1;
  }

  async change(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
    endsPause = false,
  ): Promise<StoredEndpoint | undefined> {
    return this.replace(account, id, change, () => [], { endsPause });
  }

  async rewrite(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
  ): Promise<StoredEndpoint | undefined> {
    const webhooks = this.keys(account)('webhooks');
    // The loop repeats only if another process changed the endpoint between the read and the write.
    for (;;) {
      const expected = await this.redis.hget(webhooks, id);
      if (expected === null) return undefined;
      const after = change(parseEndpoint(expected));
      const args = { id, expected, replacement: serializeEndpoint(after) };
      if ((await rewriteEndpointScript.run(this.redis, { webhooks }, args)) === 1) return after;
    }
  }

  async disable(
    account: string,
    id: string,
    reason: string,
    { url, revision, failingMs }: DisableCondition = {},
  ): Promise<boolean> {
    const after = await this.replace(
      account,
      id,
      (before) =>
        before.enabled &&
        before.url === (url ?? before.url) &&
        before.revision === (revision ?? before.revision)
          ? { ...before, enabled: false, disabledReason: reason }
          : undefined,
      (disabled) => [
        {
          type: 'webhook.disabled',
          subject: `webhook:${id}`,
          revision: disabled.revision,
          data: { webhook: toPublicEndpoint(disabled), reason },
        },
      ],
      { failingMs },
    );
    return after !== undefined;
  }

  /**
   * Replaces an endpoint and records the events that report the change, such as `webhook.disabled`, in one atomic
   * step. Returns undefined, and changes nothing, if the endpoint does not exist, if `change` returns undefined, or
   * if the attempts to the endpoint have not all failed for `failingMs`.
   * @param options `failingMs`: if given, only replaces an endpoint whose attempts have all failed for this time, in
   * milliseconds. `endsPause`: true to also end a pause of the endpoint
   */
  private async replace(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint | undefined,
    eventsOf: (after: StoredEndpoint) => NewEvent[],
    { failingMs, endsPause = false }: { failingMs?: number | undefined; endsPause?: boolean },
  ): Promise<StoredEndpoint | undefined> {
    const keys = this.keys(account);
    // The loop repeats only if another process changed the endpoint between the read and the write.
    for (;;) {
      const expected = await this.redis.hget(keys('webhooks'), id);
      const before = expected === null ? undefined : parseEndpoint(expected);
      const changed = before === undefined ? undefined : change(before);
      if (expected === null || before === undefined || changed === undefined) return undefined;
      const updatedAt = new Date(this.clock.now()).toISOString();
      const after: StoredEndpoint = { ...changed, updatedAt, revision: changed.revision + 1 };
      const done = await replaceEndpointScript.run(
        this.redis,
        {
          ...eventLogRedisKeys(keys),
          ...{ webhooks: keys('webhooks'), agenda: keys('webhooks', 'agenda') },
          ...{ speed: keys('endpoint', id, 'speed'), olderPace: keys('endpoint', id, 'pace') },
          ...filterKeys(keys),
        },
        {
          id,
          expected,
          replacement: serializeEndpoint(after),
          ...bytesOf(before, after),
          resetsPace: before.enabled === after.enabled && before.url === after.url ? 0 : 1,
          endsPause: endsPause ? 1 : 0,
          moves: before.enabled && after.enabled && before.url !== after.url ? 1 : 0,
          maxBytes: MAX_CONTACT_FILTER_BYTES_PER_ACCOUNT,
          failingMs: failingMs ?? '',
          events: appendEventsLuaArguments(account, eventsOf(after)),
        },
      );
      if (done === 'filters') throw filtersConflict();
      if (done === 'works') return undefined;
      if (done === 'replaced') return after;
    }
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}

function filterKeys(keys: AccountKeys): { filters: string; revision: string } {
  return { filters: keys('webhooks', 'filters'), revision: keys('webhooks', 'revision') };
}

/**
 * Returns the size of the endpoint's new contact filter, and whether this filter grows. Only a filter that grows is
 * checked against the limit, so that filters that are already too large do not prevent other changes.
 */
function bytesOf(before: StoredEndpoint, after: StoredEndpoint): { bytes: number; grows: 0 | 1 } {
  const bytes = contactFilterSizeInBytes(after.contactIds);
  return { bytes, grows: bytes > contactFilterSizeInBytes(before.contactIds) ? 1 : 0 };
}

function filtersConflict(): WebhookStateConflictError {
  return new WebhookStateConflictError(
    `contactIds: the webhooks of an account may have at most ${MAX_CONTACT_FILTER_BYTES_PER_ACCOUNT} bytes of contact ids in total. ` +
      'Shorten the contactIds of this or another webhook, or omit contactIds and filter the events at the receiver.',
  );
}
