import { describe, expect, it } from '@jest/globals';
import { RedisDeliveriesWatch, WebhookConflictError } from '#webhooks';
import { ACCOUNT } from './street.js';
import { WithStreet } from './with-street.js';

const TERMS = { slots: 20, room: 20, leaseMs: 60_000 };
const ATTEMPT = { at: '', durationMs: 1, statusCode: 500, reply: '', error: null };
/** Ids that look like what their list is followed by. */
const MISLEADING = [
  'a],',
  '],"description":',
  '\\"],"description":null',
  ',"contactIds":[',
  'description',
  'c1',
];
/** As large a filter as one may have: 64 KiB. */
const LARGEST = Array.from({ length: 128 }, (_, n) => String(n).padStart(512, 'x'));
/** So many of them an account may have. */
const MOST_LARGEST = 16;

const on = new WithStreet({ hintsLost: true });

async function subscribe(contactIds?: readonly string[]): Promise<string> {
  const wish = contactIds === undefined ? {} : { contactIds };
  return (await on.street.endpoints.create(ACCOUNT, { url: 'http://127.0.0.1:9/', ...wish })).endpoint.id;
}
async function pending(id: string): Promise<number> {
  const { deliveries } = await on.street.deliveries.list(ACCOUNT, id, { status: 'pending', limit: 100 });
  return deliveries.length;
}

describe('the filter of an endpoint', () => {
  it('counts as it is when an event is dispatched, whatever was changed just before', async () => {
    const id = await subscribe(['c1']);
    await on.dispatched(1);
    expect(await pending(id)).toBe(1);
    await on.street.endpoints.change(ACCOUNT, id, { contactIds: ['c2'] });
    await on.dispatched(1);
    expect(await pending(id)).toBe(1);
    await on.street.endpoints.change(ACCOUNT, id, { contactIds: null });
    await on.dispatched(1);
    expect(await pending(id)).toBe(2);
    const another = await subscribe();
    await on.dispatched(1);
    expect(await pending(another)).toBe(1);
  });

  it('that an older build changed counts as soon as its change was looked after', async () => {
    const id = await subscribe(['c1']);
    await on.dispatched(1);
    const webhooks = `${on.street.prefix}:{${ACCOUNT}}:webhooks`;
    const stored = (await on.street.redis.hget(webhooks, id)) ?? '';
    await on.street.redis.hset(webhooks, id, stored.replace('["c1"]', '["c2"]'));
    await on.street.redis.zadd(`${webhooks}:due`, 0, id);
    await on.street.pump().reconcile(ACCOUNT);
    await on.dispatched(1);
    expect(await pending(id)).toBe(1);
  });

  it('is not read by what claims and settles, whatever its ids look like', async () => {
    const id = await subscribe(MISLEADING);
    await on.dispatched(2);
    const claimed = await on.street.deliveries.claim(ACCOUNT, id, TERMS);
    if (claimed.kind === 'ended') throw new Error('ended');
    const endpoint = await on.street.endpoints.find(ACCOUNT, id);
    expect(endpoint?.contactIds).toEqual(MISLEADING);
    expect(JSON.parse(claimed.endpoint)).toMatchObject({
      id,
      url: endpoint?.url,
      enabled: true,
      ordered: false,
    });
    expect(claimed.endpoint).not.toContain('c1');
    for (const delivery of claimed.deliveries) {
      const settled = await on.street.deliveries.settle(ACCOUNT, delivery, ATTEMPT, { status: 'succeeded' });
      expect(settled.recorded).toBe(true);
    }
    const watch = new RedisDeliveriesWatch(on.street.redis, on.street.prefix);
    expect((await watch.overview(ACCOUNT)).counts).toEqual({ pending: 0, succeeded: 2, failed: 0 });
  });

  it('is refused where all of an account’s would be too large, with the field and what to do', async () => {
    const ids: string[] = [];
    for (let n = 0; n < MOST_LARGEST; n += 1) ids.push(await subscribe(LARGEST));
    const refused = await subscribe(['one more']).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(WebhookConflictError);
    expect(String(refused)).toMatch(/contactIds: .*1048576 bytes.*Name fewer.*leave contactIds out/);
    // Who asks for all contacts, for less or for something else is not refused.
    const all = await subscribe();
    await expect(on.street.endpoints.change(ACCOUNT, all, { contactIds: ['c1'] })).rejects.toThrow(
      WebhookConflictError,
    );
    await on.street.endpoints.change(ACCOUNT, ids[0] ?? '', { description: 'mine' });
    await on.street.endpoints.change(ACCOUNT, ids[0] ?? '', { contactIds: LARGEST.slice(1) });
    await on.street.endpoints.change(ACCOUNT, all, { contactIds: ['c1'] });
    await on.street.endpoints.remove(ACCOUNT, ids[1] ?? '');
    await subscribe(LARGEST);
  });

  it('that an older build stored counts, too', async () => {
    for (let n = 0; n < MOST_LARGEST; n += 1) await subscribe(LARGEST);
    const filters = `${on.street.prefix}:{${ACCOUNT}}:webhooks:filters`;
    await on.street.redis.del(filters);
    await expect(subscribe(LARGEST)).rejects.toThrow(WebhookConflictError);
  });
});
