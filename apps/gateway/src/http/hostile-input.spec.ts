import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anyCharacter } from '../../../../test/support/any-character.js';
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

const FIELDS = [
  'phoneNumber',
  'type',
  'message',
  'fileUrl',
  'reference',
  'metadata',
  'sendAt',
  'expiresAt',
  'url',
  'eventTypes',
  'contactIds',
  'description',
  'enabled',
  'headers',
  'maxConcurrency',
  'rateLimitPerSecond',
  'ordered',
  'overlapSeconds',
  'constructor',
  '__proto__',
  'then',
];

const anything = fc.jsonValue({ maxDepth: 4, stringUnit: anyCharacter });
const body = fc.oneof(fc.dictionary(fc.constantFrom(...FIELDS), anything), anything);
const text = fc.string({ unit: anyCharacter, maxLength: 80 });
const segment = text.map((value) => encodeURIComponent(value.replace(/\p{Surrogate}/gu, '')) || 'x');

async function expectSane(response: Response): Promise<void> {
  expect(response.status).toBeLessThan(500);
  if (response.status >= 400) await problemOf(response);
  else await response.arrayBuffer();
}

describe('Random input', () => {
  it('as JSON never causes a 5xx response', async () => {
    const paths = fc.constantFrom('/v1/messages/send', '/v1/webhooks');
    await fc.assert(
      fc.asyncProperty(paths, body, async (path, value) => {
        await expectSane(await gateway.fetch(path, json(value)));
      }),
      { numRuns: 400 },
    );
  });

  it('as a form never causes a 5xx response', async () => {
    const part = fc.tuple(fc.oneof(fc.constantFrom(...FIELDS, 'file'), text), text, fc.option(text));
    const type = { 'content-type': 'multipart/form-data; boundary=b' };
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 8 }), fc.boolean(), async (parts, whole) => {
        const bytes = parts
          .map(([name, value, file]) => {
            const named = file === null ? '' : `; filename="${file}"`;
            return `--b\r\nContent-Disposition: form-data; name="${name}"${named}\r\n\r\n${value}\r\n`;
          })
          .join('');
        const init = { method: 'POST', headers: type, body: `${bytes}${whole ? '--b--\r\n' : ''}` };
        await expectSane(await gateway.fetch('/v1/messages/send', init));
      }),
      { numRuns: 400 },
    );
  });

  it('as a path or query never causes a 5xx response', async () => {
    const route = fc.constantFrom(
      (id: string) => `/v1/sends/${id}`,
      (id: string) => `/v1/contacts/${id}`,
      (id: string) => `/v1/contacts/${id}/messages`,
      (id: string) => `/v1/events/${id}`,
      (id: string) => `/v1/webhooks/${id}`,
      (id: string) => `/${id}`,
      () => '/v1/events',
    );
    const names = fc.constantFrom('page', 'limit', 'after', 'types', 'contactId', '__proto__', 'x[]');
    const query = fc.array(fc.tuple(names, segment), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(route, segment, query, async (address, id, pairs) => {
        const search = pairs.map(([name, value]) => `${name}=${value}`).join('&');
        await expectSane(await gateway.fetch(`${address(id)}?${search}`));
      }),
      { numRuns: 400 },
    );
  });
});
