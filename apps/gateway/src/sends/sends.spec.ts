import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clockOfThisMachine, newId } from '#platform';
import { RedisRelayStore } from '#relay';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

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

async function unknownSend(): Promise<string> {
  const sent = await gateway.fetch('/v1/messages/send', json({ phoneNumber: '+14155550123', message: 'hi' }));
  const { id } = (await sent.json()) as { id: string };
  const send = gateway.sends.sends.get(`default/${id}`);
  if (send !== undefined) send.status = 'unknown';
  return id;
}

describe('A send', () => {
  it('can be read and can be cancelled; a second cancel causes 409 conflict', async () => {
    const sent = await gateway.fetch(
      '/v1/messages/send',
      json({ phoneNumber: '+14155550123', message: 'hi' }),
    );
    const path = String(sent.headers.get('location'));
    expect(await (await gateway.fetch(path)).json()).toMatchObject({ status: 'queued', message: 'hi' });
    const cancel = (): Promise<Response> => gateway.fetch(`${path}/cancel`, { method: 'POST' });
    expect(await (await cancel()).json()).toMatchObject({ status: 'cancelled' });
    expect(await problemOf(await cancel())).toMatchObject({ status: 409, code: 'conflict' });
    expect(await problemOf(await gateway.fetch('/v1/sends/snd_x'))).toMatchObject({ status: 404 });
  });

  it('can be listed with filters, and the error for an invalid filter names the filter', async () => {
    const store = new RedisRelayStore(gateway.redis, 'tidings', clockOfThisMachine);
    const insert = async (phoneNumber: string, reference: string, sendAt?: number): Promise<string> => {
      const id = newId('snd');
      const order = { id, phoneNumber, reference, type: 'text', message: 'hi', createdAt: Date.now() };
      await store.insert('default', { ...order, ...(sendAt === undefined ? {} : { sendAt }) });
      return id;
    };
    const first = await insert('+14155550123', 'r');
    const toAnother = await insert('+14155550124', 'r');
    const withAnotherReference = await insert('+14155550123', 'other');
    const scheduled = await insert('+14155550123', 'r', Date.now() + 3_600_000);
    const list = async (query: string): Promise<{ ids: string[]; next: string | null }> => {
      const reply = await gateway.fetch(`/v1/sends?${query}`);
      const { sends, next } = (await reply.json()) as { sends: { id: string }[]; next: string | null };
      return { ids: sends.map(({ id }) => id), next };
    };
    const cases: [query: string, ids: string[]][] = [
      ['', [scheduled, withAnotherReference, toAnother, first]],
      ['status=queued', [withAnotherReference, toAnother, first]],
      ['reference=r', [scheduled, toAnother, first]],
      ['phoneNumber=%2B14155550123', [scheduled, withAnotherReference, first]],
      ['status=queued&reference=r&phoneNumber=%2B14155550123', [first]],
      ['status=failed', []],
    ];
    for (const [query, ids] of cases)
      expect([query, await list(query)]).toEqual([query, { ids, next: null }]);
    const page = await list('reference=r&limit=2');
    expect(page.ids).toEqual([scheduled, toAnother]);
    expect((await list(`reference=r&limit=2&cursor=${page.next}`)).ids).toEqual([first]);
    for (const [field, value] of [
      ['status', 'sending'],
      ['reference', 'x'.repeat(129)],
      ['phoneNumber', '4155550123'],
      ['limit', '101'],
      ['limit', '0'],
      ['cursor', 'abc'],
      ['order', 'asc'],
    ]) {
      const query = new URLSearchParams({ [String(field)]: String(value) }).toString();
      const problem = await problemOf(await gateway.fetch(`/v1/sends?${query}`));
      expect(problem).toMatchObject({ status: 400, errors: [{ field }] });
    }
  });

  it('with long texts is listed on shorter pages of at most 4 MB, and each send is on one of them', async () => {
    const store = new RedisRelayStore(gateway.redis, 'tidings', clockOfThisMachine);
    const ids: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      const id = newId('snd');
      const message = '\u{1F44B}'.repeat(65_536);
      await store.insert('default', {
        id,
        phoneNumber: '+14155550123',
        reference: 'long',
        type: 'text',
        message,
      });
      ids.unshift(id);
    }
    const sizes: number[] = [];
    const listed: string[] = [];
    for (let next: string | null = ''; next !== null;) {
      const reply = await gateway.fetch(
        `/v1/sends?reference=long&limit=100&cursor=${next}`.replace(/&cursor=$/, ''),
      );
      const page = (await reply.json()) as { sends: { id: string }[]; next: string | null };
      sizes.push(page.sends.length);
      listed.push(...page.sends.map(({ id }) => id));
      next = page.next;
    }
    expect(sizes).toEqual([15, 5]);
    expect(listed).toEqual(ids);
  });

  it('cannot be listed by a phone number whose + is not escaped in the URL, and the error says how to write it', async () => {
    const messagesFor = async (query: string): Promise<string[] | undefined> =>
      (await problemOf(await gateway.fetch(query))).errors?.map(({ message }) => message);
    const hint = expect.stringMatching(/; in a URL, write \+ as %2B$/);
    expect(await messagesFor('/v1/sends?phoneNumber=+14155550123')).toEqual([hint]);
    expect(await messagesFor('/v1/deliveries?since=2030-01-31T09:00:00+01:00')).toEqual([hint]);
    expect(await messagesFor('/v1/sends?phoneNumber=4155550123')).toEqual([
      expect.not.stringContaining('%2B'),
    ]);
  });

  it('with the status unknown can be resolved; a second request to resolve it causes 409 conflict', async () => {
    const id = await unknownSend();
    const resolve = (outcome: unknown, of = id): Promise<Response> =>
      gateway.fetch(`/v1/sends/${of}/resolve`, json({ outcome }));
    for (const outcome of ['sending', undefined, ['sent']]) {
      expect(await problemOf(await resolve(outcome))).toMatchObject({
        status: 400,
        errors: [{ field: 'outcome' }],
      });
    }
    expect(await (await resolve('sent')).json()).toMatchObject({ id, status: 'sent' });
    expect(await problemOf(await resolve('sent'))).toMatchObject({ status: 409, code: 'conflict' });
    expect(await problemOf(await resolve('sent', 'snd_x'))).toMatchObject({ status: 404 });
  });

  it('can be resolved in one request with other sends, and the reply has one result for each send', async () => {
    const [one, two] = [await unknownSend(), await unknownSend()];
    const reply = await gateway.fetch(
      '/v1/sends/resolve',
      json({ ids: [one, 'snd_x', two, one], outcome: 'failed' }),
    );
    expect(await reply.json()).toEqual({
      results: [
        {
          id: one,
          resolved: true,
          send: expect.objectContaining({ status: 'failed' }),
          code: null,
          detail: null,
        },
        { id: 'snd_x', resolved: false, send: null, code: 'not_found', detail: expect.any(String) },
        {
          id: two,
          resolved: true,
          send: expect.objectContaining({ status: 'failed' }),
          code: null,
          detail: null,
        },
      ],
    });
    const again = await gateway.fetch('/v1/sends/resolve', json({ ids: [one], outcome: 'sent' }));
    expect(await again.json()).toMatchObject({ results: [{ id: one, resolved: false, code: 'conflict' }] });
    for (const ids of [[], 'snd_x', [1], Array.from({ length: 101 }, () => one), undefined]) {
      const refused = await gateway.fetch('/v1/sends/resolve', json({ ids, outcome: 'sent' }));
      expect(await problemOf(refused)).toMatchObject({ status: 400, errors: [{ field: 'ids' }] });
    }
  });
});
