import { describe, expect, it } from '@jest/globals';
import { RedisDeliveriesOverviewReader, WebhookStateConflictError } from '#webhooks';
import { ACCOUNT } from './webhook-harness.js';
import { WithWebhookHarness } from './with-webhook-harness.js';

const TERMS = { defaultConcurrency: 20, maxDeliveries: 20, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };
/** Contact ids that look like the JSON text or fields after the list of ids. */
const MISLEADING = [
  'a],',
  '],"description":',
  '\\"],"description":null',
  ',"contactIds":[',
  'description',
  'c1',
];
/** The largest allowed filter of one endpoint: 64 KiB. */
const LARGEST = Array.from({ length: 128 }, (_, n) => String(n).padStart(512, 'x'));
/** Max number of such filters in one account. */
const MAX_LARGEST = 16;

const on = new WithWebhookHarness({ hintsLost: true });

async function subscribe(contactIds?: readonly string[]): Promise<string> {
  const filter = contactIds === undefined ? {} : { contactIds };
  return (await on.harness.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/', ...filter })).endpoint.id;
}
async function pending(id: string): Promise<number> {
  const { deliveries } = await on.harness.deliveries.list(ACCOUNT, id, { status: 'pending', limit: 100 });
  return deliveries.length;
}

describe('the filter of a webhook', () => {
  it('applies to newly dispatched events at once after the filter was changed', async () => {
    const id = await subscribe(['c1']);
    await on.dispatched(1);
    expect(await pending(id)).toBe(1);
    await on.harness.endpoints.change(ACCOUNT, id, { contactIds: ['c2'] });
    await on.dispatched(1);
    expect(await pending(id)).toBe(1);
    await on.harness.endpoints.change(ACCOUNT, id, { contactIds: null });
    await on.dispatched(1);
    expect(await pending(id)).toBe(2);
    const another = await subscribe();
    await on.dispatched(1);
    expect(await pending(another)).toBe(1);
  });

  it('takes effect after the next periodic check if an older build of Tidings changed the filter', async () => {
    const id = await subscribe(['c1']);
    await on.dispatched(1);
    const webhooks = `${on.harness.prefix}:{${ACCOUNT}}:webhooks`;
    const stored = (await on.harness.redis.hget(webhooks, id)) ?? '';
    await on.harness.redis.hset(webhooks, id, stored.replace('["c1"]', '["c2"]'));
    await on.harness.redis.zadd(`${webhooks}:due`, 0, id);
    await on.harness.startRunner().reconcile(ACCOUNT);
    await on.dispatched(1);
    expect(await pending(id)).toBe(1);
  });

  it('is omitted from the webhook that a claim of deliveries returns, even if contact ids in the filter look like JSON', async () => {
    const id = await subscribe(MISLEADING);
    await on.dispatched(2);
    const claimed = await on.harness.deliveries.claim(ACCOUNT, id, TERMS);
    if (claimed.kind === 'ended') throw new Error('ended');
    const endpoint = await on.harness.endpoints.find(ACCOUNT, id);
    expect(endpoint?.contactIds).toEqual(MISLEADING);
    expect(claimed.endpoint).toMatchObject({
      id,
      url: endpoint?.url,
      enabled: true,
      ordered: false,
    });
    expect(claimed.endpoint).not.toHaveProperty('contactIds');
    for (const delivery of claimed.deliveries) {
      const settled = await on.harness.deliveries.settle(ACCOUNT, delivery, ATTEMPT, { status: 'succeeded' });
      expect(settled.isRecorded).toBe(true);
    }
    const watch = new RedisDeliveriesOverviewReader(on.harness.redis, on.harness.prefix);
    expect((await watch.overview(ACCOUNT)).counts).toEqual({ pending: 0, succeeded: 2, failed: 0 });
  });

  it('is refused if the filters of the account would exceed 1 MB; the error names the field and the remedy', async () => {
    const ids: string[] = [];
    for (let n = 0; n < MAX_LARGEST; n += 1) ids.push(await subscribe(LARGEST));
    const refused = await subscribe(['one more']).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(WebhookStateConflictError);
    expect(String(refused)).toMatch(/contactIds: .*1048576 bytes.*Shorten the contactIds.*omit contactIds/);
    // Endpoints without a filter, smaller filters and other changes are still accepted.
    const all = await subscribe();
    await expect(on.harness.endpoints.change(ACCOUNT, all, { contactIds: ['c1'] })).rejects.toThrow(
      WebhookStateConflictError,
    );
    await on.harness.endpoints.change(ACCOUNT, ids[0] ?? '', { description: 'mine' });
    await on.harness.endpoints.change(ACCOUNT, ids[0] ?? '', { contactIds: LARGEST.slice(1) });
    await on.harness.endpoints.change(ACCOUNT, all, { contactIds: ['c1'] });
    await on.harness.endpoints.remove(ACCOUNT, ids[1] ?? '');
    await subscribe(LARGEST);
  });

  it('counts towards the size limit of the account’s filters even if an older build of Tidings stored it', async () => {
    for (let n = 0; n < MAX_LARGEST; n += 1) await subscribe(LARGEST);
    const filters = `${on.harness.prefix}:{${ACCOUNT}}:webhooks:filters`;
    await on.harness.redis.del(filters);
    await expect(subscribe(LARGEST)).rejects.toThrow(WebhookStateConflictError);
  });
});
