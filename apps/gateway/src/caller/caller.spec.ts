import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_KEY_SCOPES, ENVIRONMENT_API_KEY_ID, InMemoryApiKeyAuthenticator } from '#accounts';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import {
  EMPTY_KEY,
  json,
  OTHER_KEY,
  problemOf,
  startTestGateway,
  type TestGateway,
} from '../fixtures/gateway.js';
import { makeKey, makeToken } from '../fixtures/tokens.js';
import { API_KEYS } from '../tokens.js';

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

async function callerOf(credential: { key?: string; token?: string }): Promise<unknown> {
  const reply = await gateway.fetch('/v1/caller', credential);
  expect(reply.status).toBe(200);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  return await reply.json();
}

describe('GET /v1/caller', () => {
  it('returns the account, name, scopes and expiry of the API key in the request; any scope is sufficient', async () => {
    const expiresAt = '2035-01-31T00:00:00.000Z';
    const { id, key } = await makeKey(gateway, { name: 'Shop', scopes: ['events:read'], expiresAt });
    expect(await callerOf({ key })).toEqual({
      ...{ account: 'default', keyId: id, keyName: 'Shop', tokenId: null, scopes: ['events:read'] },
      ...{ isOperator: false, contactIds: null, expiresAt },
    });
    expect(await problemOf(await gateway.fetch('/v1/caller', { key: EMPTY_KEY }))).toMatchObject({
      code: 'forbidden',
    });
  });

  it('has isOperator true for an admin of the account "default", and false for an admin of another account', async () => {
    await gateway.fetch('/v1/accounts', json({ id: 'sales', baseUrl: 'https://u.example/v1', apiKey: 'k' }));
    const own = await makeKey(gateway, { scopes: ['admin'] });
    const theirs = await makeKey(gateway, { account: 'sales', scopes: ['admin'] });
    expect(await callerOf({ key: own.key })).toMatchObject({ account: 'default', isOperator: true });
    expect(await callerOf({ key: theirs.key })).toMatchObject({ account: 'sales', isOperator: false });
    expect(await callerOf({ key: OTHER_KEY })).toMatchObject({ account: 'other', isOperator: false });
  });

  it('shows the API key from the variable API_KEY with the id "environment" and the name "API_KEY"', async () => {
    const key = { id: ENVIRONMENT_API_KEY_ID, key: 'own', account: 'default', scopes: API_KEY_SCOPES };
    const bound = [{ provide: API_KEYS, useValue: new InMemoryApiKeyAuthenticator([key]) }];
    await using other = await startTestGateway({ redisUrl: redis.url, bound });
    expect(await (await other.fetch('/v1/caller', { key: 'own' })).json()).toEqual({
      ...{ account: 'default', keyId: 'environment', keyName: 'API_KEY', tokenId: null },
      ...{ scopes: [...API_KEY_SCOPES], isOperator: true, contactIds: null, expiresAt: null },
    });
  });

  it('returns the scopes, contacts and expiry of a caller’s token, and the API key that created the token', async () => {
    const { id: keyId, key } = await makeKey(gateway, { name: 'Front end' });
    const free = await makeToken(gateway, { scopes: ['messages:read'] }, key);
    expect(await callerOf({ token: free.token })).toEqual({
      ...{ account: 'default', keyId, keyName: 'Front end', tokenId: free.id, scopes: ['messages:read'] },
      ...{ isOperator: false, contactIds: null, expiresAt: free.expiresAt },
    });
    const contactIds = ['c_2', 'c_1'];
    const restricted = await makeToken(gateway, { scopes: ['events:read'], contactIds }, key);
    expect(await callerOf({ token: restricted.token })).toMatchObject({
      ...{ tokenId: restricted.id, scopes: ['events:read'], contactIds },
    });
  });
});
