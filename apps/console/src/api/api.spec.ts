import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { TidingsError } from '#client';
import { Api } from './api.js';

/** Globals of the browser that the class uses. */
const NAMES = ['location', 'fetch'] as const;
const before = NAMES.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);

let answer: () => Response;
let api: Api;

beforeEach(() => {
  replace('location', new URL('https://gateway.example/console'));
  replace('fetch', () => Promise.resolve(answer()));
  const caller = {
    ...{ account: 'default', keyId: 'key_1', keyName: null, tokenId: null, scopes: [] },
    ...{ isOperator: false, contactIds: null, expiresAt: null },
  };
  api = new Api({ id: 'key_1', credential: { kind: 'key', key: 'secret' }, caller }, () => undefined, {
    headers: {},
  });
});

afterEach(() => {
  for (const [name, descriptor] of before)
    if (descriptor === undefined) Reflect.deleteProperty(globalThis, name);
    else Object.defineProperty(globalThis, name, descriptor);
});

function replace(name: (typeof NAMES)[number], value: unknown): void {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

it('the console reads why the gateway is not available, although the gateway answers with status 503', async () => {
  const readiness = { status: 'unavailable', reasons: ['Redis is full.'], details: [] };
  answer = () => Response.json(readiness, { status: 503 });
  expect(await api.get('/health/ready')).toEqual(readiness);
});

it('an answer with status 503 that does not contain the readiness is an error', async () => {
  for (const body of ['{"code":"unavailable"}', '<html></html>', 'null']) {
    // The client does not retry, because the wait in `Retry-After` is longer than its maximum.
    answer = () => new Response(body, { status: 503, headers: { 'Retry-After': '600' } });
    await expect(api.get('/health/ready')).rejects.toThrow(TidingsError);
  }
});
