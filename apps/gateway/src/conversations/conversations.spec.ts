import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, OTHER_KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

interface Row {
  id: string;
  contactId: string | null;
  preview: string | null;
  unreadCount: number;
  revision: number;
}
interface Page {
  conversations: Row[];
  next: string | null;
  after: string;
}

const NUMBER = '+15551230009';
let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  // Stores conversations, as the commits of the feed and of sends do.
  for (let i = 1; i <= 5; i += 1) {
    const row = { m: [1_000 * i, `m${i}`, 'i', `text ${i}`], w: [[1_000 * i, `m${i}`, 1]], k: ' ada', v: i };
    await gateway.redis.hset('tidings:{default}:conversations', `c${i}`, JSON.stringify(row));
    await gateway.redis.zadd('tidings:{default}:conversations:order', 1_000 * i, `c${i}`);
    await gateway.redis.zadd('tidings:{default}:conversations:words', 0, `ada\0c${i}`);
  }
  const sends = { p: 1, f: 0, s: [[9_000, 'snd_1', 'on its way']], v: 9 };
  await gateway.redis.hset('tidings:{default}:conversations:sends', NUMBER, JSON.stringify(sends));
  await gateway.redis.zadd('tidings:{default}:conversations:order', 9_000, NUMBER);
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

async function read<T = Page>(path: string): Promise<T> {
  const reply = await gateway.fetch(path);
  expect([path, reply.status]).toEqual([path, 200]);
  return (await reply.json()) as T;
}

describe('the list of conversations', () => {
  it('is returned page by page, newest first, and each page has a cursor of the event log', async () => {
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Page = await read(`/v1/conversations?limit=4${cursor === '' ? '' : `&cursor=${cursor}`}`);
      ids.push(...page.conversations.map(({ id }) => id));
      expect((await read(`/v1/events?after=${page.after}`)) as unknown).toMatchObject({ events: [] });
      cursor = page.next;
    }
    expect(ids).toEqual([NUMBER, 'c5', 'c4', 'c3', 'c2', 'c1']);
    const [first, second] = (await read('/v1/conversations')).conversations;
    expect(first).toMatchObject({
      contactId: null,
      preview: 'on its way',
      pendingSends: 1,
      lastDirection: 'outbound',
    });
    expect(second).toMatchObject({
      contactId: 'c5',
      preview: 'text 5',
      lastActivityAt: '1970-01-01T00:00:05.000Z',
    });
  });

  it('can be searched with the parameter q, page by page', async () => {
    const page = await read('/v1/conversations?q=ad&limit=2');
    expect(page.conversations.map(({ id }) => id)).toEqual(['c5', 'c4']);
    const rest = await read(`/v1/conversations?q=ad&limit=10&cursor=${String(page.next)}`);
    expect(rest.conversations.map(({ id }) => id)).toEqual(['c3', 'c2', 'c1']);
    expect(rest.next).toBeNull();
    expect((await read('/v1/conversations?q=nobody')).conversations).toEqual([]);
  });

  it.each(['limit=0', 'limit=101', 'cursor=x', 'q=', `cursor=${Buffer.from('[1]').toString('base64url')}`])(
    'rejects the query %s and names the parameter',
    async (query) => {
      const problem = await problemOf(await gateway.fetch(`/v1/conversations?${query}`));
      expect(problem).toMatchObject({ status: 400, code: 'validation_failed' });
      expect(problem.errors?.[0]?.field).toBe(query.split('=')[0]);
    },
  );

  it('is returned completely even if an earlier version stored times of last activity before 1970', async () => {
    const order = 'tidings:{default}:conversations:order';
    const at = Date.parse('0001-01-01T00:00:00Z');
    await gateway.redis.zadd(order, at, 'old1', at, 'old2', at + 1, 'old3', 0, 'none');
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null && ids.length < 20;) {
      const page: Page = await read(`/v1/conversations?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      ids.push(...page.conversations.map(({ id }) => id));
      cursor = page.next;
    }
    await gateway.redis.zrem(order, 'old1', 'old2', 'old3', 'none');
    expect(ids.slice(6)).toEqual(['none', 'old3', 'old2', 'old1']);
  });

  it('contains nothing of another account', async () => {
    const reply = await gateway.fetch('/v1/conversations', { key: OTHER_KEY });
    expect(await reply.text()).not.toContain('text 5');
  });
});

describe('a conversation', () => {
  it('is found by the id of its contact or by its phone number; any other id causes 404', async () => {
    expect(await read<Row>('/v1/conversations/c1')).toMatchObject({ id: 'c1', unreadCount: 1 });
    expect(await read<Row>(`/v1/conversations/${encodeURIComponent(NUMBER)}`)).toMatchObject({ id: NUMBER });
    expect(await problemOf(await gateway.fetch('/v1/conversations/c9'))).toMatchObject({ status: 404 });
  });

  it('has no unread messages after they were marked as seen; an unknown message id causes 404', async () => {
    const seen = (upTo: unknown): Promise<Response> =>
      gateway.fetch('/v1/conversations/c2/seen', json({ upTo }));
    expect(await problemOf(await seen('m9'))).toMatchObject({ status: 404 });
    expect(await problemOf(await seen(7))).toMatchObject({ status: 400, errors: [{ field: 'upTo' }] });
    expect((await read<Row>('/v1/conversations/c2')).unreadCount).toBe(1);
    expect((await seen('m2')).status).toBe(204);
    expect((await read<Row>('/v1/conversations/c2')).unreadCount).toBe(0);
  });
});

it('with CONVERSATIONS=off, a request for conversations gets 404 with the reason', async () => {
  await using off = await startTestGateway({ redisUrl: redis.url, environment: { CONVERSATIONS: 'off' } });
  for (const path of ['/v1/conversations', '/v1/conversations/c1']) {
    const problem = await problemOf(await off.fetch(path));
    expect(problem).toMatchObject({ status: 404, code: 'not_found' });
    expect(problem.detail).toContain('CONVERSATIONS=on');
  }
});
