import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisAuditLog } from '#accounts';
import { DeadlineError } from '#platform';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeKey, makeToken } from '../fixtures/tokens.js';
import { AUDIT_LOG } from '../tokens.js';

interface Entry {
  id: string;
  at: string;
  action: string;
  subject: string | null;
  account: string;
}
interface Page {
  entries: Entry[];
  next: string | null;
}

const OPERATOR = { account: 'default', keyId: `id-of-${KEY}` };

let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
});
afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});
beforeEach(async () => {
  await gateway.redis.flushall();
});

async function pageOf(query = '', key = KEY): Promise<Page> {
  const reply = await gateway.fetch(`/v1/audit${query}`, { key });
  expect(reply.status).toBe(200);
  return (await reply.json()) as Page;
}
const entriesOf = async (query?: string, key?: string): Promise<Entry[]> =>
  (await pageOf(query, key)).entries;
const actionsOf = async (query?: string, key?: string): Promise<string[]> =>
  (await entriesOf(query, key)).map(({ action }) => action);

async function addAccount(id: string): Promise<{ id: string; key: string }> {
  await gateway.fetch('/v1/accounts', json({ id, baseUrl: 'https://u.example/v1', apiKey: 'secret-of-u' }));
  return await makeKey(gateway, { account: id, scopes: ['admin', 'webhooks:manage', 'messages:send'] });
}

async function addSend(status: 'queued' | 'unknown', key?: string): Promise<string> {
  const body = { phoneNumber: '+14155550123', message: 'Hello' };
  const reply = await gateway.fetch('/v1/messages/send', {
    ...json(body),
    ...(key === undefined ? {} : { key }),
  });
  const { id } = (await reply.json()) as { id: string };
  const send = gateway.sends.sends.get(`default/${id}`);
  if (send !== undefined) send.status = status;
  return id;
}

describe('the audit log', () => {
  it('has an entry for each action as soon as the response arrives: who did what to which object, but no field values', async () => {
    const headers = { 'x-request-id': 'request-1' };
    const body = { account: 'default', name: 'hush', scopes: ['admin'] };
    const reply = await gateway.fetch('/v1/api-keys', json(body, headers));
    const { id } = (await reply.json()) as { id: string };
    const { entries, next } = await pageOf();
    expect(next).toBeNull();
    expect(entries).toEqual([
      {
        id: expect.stringMatching(/^aud_[0-9a-f]{32}$/),
        at: expect.any(String),
        ...{ action: 'api-key.created', subject: id, ...OPERATOR },
        ...{ requestId: 'request-1', fields: ['account', 'name', 'scopes'] },
      },
    ]);
    expect(Math.abs(Date.parse(entries[0]?.at ?? '') - Date.now())).toBeLessThan(60_000);
    expect(JSON.stringify(entries)).not.toContain('hush');
  });

  it('has entries for replays, cancelled sends and resolved sends, with the token id if the caller used a token', async () => {
    const hook = await gateway.fetch('/v1/webhooks', json({ url: 'https://public.example/' }));
    const { id: webhook } = (await hook.json()) as { id: string };
    await gateway.fetch(`/v1/webhooks/${webhook}/replay`, json({ since: '2026-01-01T00:00:00Z' }));
    const { id: tokenId, token } = await makeToken(gateway, { scopes: ['messages:send'] });
    const cancelled = await addSend('queued');
    await gateway.fetch(`/v1/sends/${cancelled}/cancel`, { method: 'POST', token });
    const one = await addSend('unknown');
    await gateway.fetch(`/v1/sends/${one}/resolve`, json({ outcome: 'sent' }));
    const [two, three] = [await addSend('unknown'), await addSend('unknown')];
    const ids = [two, 'snd_none', three, cancelled];
    await gateway.fetch('/v1/sends/resolve', json({ ids, outcome: 'failed' }));
    expect(await entriesOf()).toMatchObject([
      { action: 'send.resolved', subject: null, subjects: [two, three], fields: ['ids', 'outcome'] },
      { action: 'send.resolved', subject: one, ...OPERATOR, fields: ['outcome'] },
      { action: 'send.cancelled', subject: cancelled, ...OPERATOR, tokenId, fields: [] },
      { action: 'token.created', subject: tokenId },
      { action: 'webhook.replayed', subject: webhook, fields: ['since'] },
      { action: 'webhook.created', subject: webhook },
    ]);
  });

  it('has no entry for an action that failed, was rejected or changed nothing', async () => {
    const { key } = await makeKey(gateway, { scopes: ['messages:read'] });
    const before = await entriesOf();
    await gateway.fetch('/v1/api-keys', json({ account: 'default' }));
    await gateway.fetch('/v1/api-keys', {
      ...json({ account: 'default', name: 'x', scopes: ['admin'] }),
      key,
    });
    await gateway.fetch('/v1/api-keys/key_none', { method: 'DELETE' });
    await gateway.fetch('/v1/sends/snd_none/cancel', { method: 'POST' });
    await gateway.fetch('/v1/sends/resolve', json({ ids: ['snd_none'], outcome: 'failed' }));
    expect(await entriesOf()).toEqual(before);
  });

  it('has no entry for a replay with dryRun, which only counts the deliveries', async () => {
    const hook = await gateway.fetch('/v1/webhooks', json({ url: 'https://public.example/' }));
    const { id } = (await hook.json()) as { id: string };
    const replay = { since: '2026-01-01T00:00:00Z' };
    const counted = await gateway.fetch(`/v1/webhooks/${id}/replay`, json({ ...replay, dryRun: true }));
    expect(counted.status).toBe(202);
    expect(await actionsOf()).toEqual(['webhook.created']);
    await gateway.fetch(`/v1/webhooks/${id}/replay`, json({ ...replay, dryRun: false }));
    expect(await actionsOf()).toEqual(['webhook.replayed', 'webhook.created']);
  });

  it('of an account contains what an operator did to the account, with the same entry ids as in the audit log of the operator', async () => {
    const own = await addAccount('sales');
    const { id: second } = await makeKey(gateway, { account: 'sales', scopes: ['admin'] });
    await gateway.fetch('/v1/accounts/sales', { ...json({ polling: false }), method: 'PATCH' });
    await gateway.fetch('/v1/accounts/sales/confirm-deletions', { method: 'POST' });
    await gateway.fetch(`/v1/api-keys/${second}`, { method: 'DELETE' });
    const theirs = await entriesOf('', own.key);
    expect(theirs).toMatchObject([
      { action: 'api-key.revoked', subject: second, ...OPERATOR },
      { action: 'account.deletions-confirmed', subject: 'sales', ...OPERATOR },
      { action: 'account.changed', subject: 'sales', ...OPERATOR, fields: ['polling'] },
      { action: 'api-key.created', subject: second, ...OPERATOR },
      { action: 'api-key.created', subject: own.id, ...OPERATOR },
      { action: 'account.created', subject: 'sales', ...OPERATOR },
    ]);
    expect(await entriesOf()).toEqual(theirs);
    expect(JSON.stringify(theirs)).not.toContain('secret-of-u');
    await gateway.fetch('/v1/accounts/sales', { method: 'DELETE' });
    expect(await actionsOf()).toEqual(['account.removed', ...theirs.map(({ action }) => action)]);
  });

  it('of another account can be read only by an operator', async () => {
    const [sales, support] = [await addAccount('sales'), await addAccount('support')];
    await gateway.fetch('/v1/webhooks', { ...json({ url: 'https://public.example/' }), key: sales.key });
    expect((await actionsOf('?account=sales'))[0]).toBe('webhook.created');
    expect(await entriesOf('?account=sales', sales.key)).toEqual(await entriesOf('?account=sales'));
    expect(await actionsOf()).not.toContain('webhook.created');
    expect(await actionsOf('', support.key)).not.toContain('webhook.created');
    for (const [account, key] of [
      ['sales', support.key],
      ['default', support.key],
      ['nobody', KEY],
    ] as const) {
      const reply = await gateway.fetch(`/v1/audit?account=${account}`, { key });
      expect(await problemOf(reply)).toMatchObject({ code: 'not_found' });
    }
    const { key } = await makeKey(gateway, { scopes: ['webhooks:manage'] });
    expect((await gateway.fetch('/v1/audit', { key })).status).toBe(403);
  });

  it('keeps the entries about API keys when a key that may manage webhooks changes a webhook again and again', async () => {
    const log = new RedisAuditLog(
      gateway.redis,
      'tidings',
      { now: () => Date.now() },
      {
        maxEntries: 3,
        retentionMs: 60_000,
      },
    );
    const bound = [{ provide: AUDIT_LOG, useValue: log }];
    await using other = await startTestGateway({ redisUrl: redis.url, bound });
    const { key } = await makeKey(other, { scopes: ['webhooks:manage'] });
    const made = await other.fetch('/v1/webhooks', { ...json({ url: 'https://w.example/' }), key });
    const { id } = (await made.json()) as { id: string };
    for (let i = 0; i < 4; i += 1)
      await other.fetch(`/v1/webhooks/${id}`, { ...json({}), method: 'PATCH', key });
    const changes = Array<string>(3).fill('webhook.changed');
    expect(await actionsOf()).toEqual([...changes, 'api-key.created']);
  });

  it('is read page by page, and the error for an invalid parameter names the parameter', async () => {
    for (let i = 0; i < 5; i += 1) await makeKey(gateway);
    const all = await entriesOf();
    const pages: Entry[][] = [];
    for (let next: string | null = ''; next !== null;) {
      const page = await pageOf(`?limit=2${next === '' ? '' : `&cursor=${next}`}`);
      pages.push(page.entries);
      next = page.next;
    }
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat()).toEqual(all);
    for (const [field, query] of [
      ['limit', 'limit=101'],
      ['cursor', 'cursor=eA'],
      ['cursor', `cursor=${Buffer.from('audit/0-0').toString('base64url')}`],
      ['cursor', `cursor=${Buffer.from('sends/17').toString('base64url')}`],
      ['account', 'account=%20'],
    ]) {
      const problem = await problemOf(await gateway.fetch(`/v1/audit?${query}`));
      expect(problem).toMatchObject({ code: 'validation_failed', errors: [{ field }] });
    }
  });

  it.each([
    ['the store rejects the entry', () => Promise.reject(new Error('OOM command not allowed')), 'OOM'],
    ['the store does not answer', () => new Promise<never>(() => undefined), DeadlineError.name],
  ])(
    'does not make an action fail if an entry cannot be stored, and the failure is logged (%s)',
    async (_, append, reason) => {
      const bound = [{ provide: AUDIT_LOG, useValue: { append, read: append } }];
      await using other = await startTestGateway({ redisUrl: redis.url, bound });
      const { id } = await makeKey(other);
      const lines = other.log.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines).toContainEqual(expect.objectContaining({ msg: 'action.audited', subject: id }));
      const failure = lines.find(({ msg }) => msg === 'the entry of the audit log was not stored');
      expect(failure).toMatchObject({ level: expect.anything(), action: 'api-key.created' });
      expect(JSON.stringify(failure)).toContain(reason);
    },
  );
});
