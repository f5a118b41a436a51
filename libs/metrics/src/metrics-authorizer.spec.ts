import { describe, expect, it } from '@jest/globals';
import { InMemoryApiKeyAuthenticator, type Scope } from '#accounts';
import { parseNetworks } from '#platform';
import { MetricsAuthorizer } from './metrics-authorizer.js';

const key = (text: string, scopes: Scope[]) => ({ id: text, key: text, account: 'default', scopes });
const keys = new InMemoryApiKeyAuthenticator([
  key('admin-key', ['admin']),
  key('other-key', ['messages:send']),
]);

function access({ token = '', networks = '127.0.0.0/8,::1/128' } = {}): MetricsAuthorizer {
  return new MetricsAuthorizer(
    { METRICS_TOKEN: token, METRICS_ALLOW_NETWORKS: parseNetworks(networks) },
    keys,
  );
}

describe('a request for the metrics', () => {
  it.each([
    ['it comes from an allowed network', '127.0.0.1', {}],
    ['it comes from an allowed IPv4 network and the address is written as IPv6', '::ffff:127.0.0.1', {}],
    ['it comes from an allowed IPv6 network', '::1', {}],
    ['it contains the token', '203.0.113.9', { authorization: 'Bearer a-long-random-token' }],
    ['it contains an API key with the scope admin', '203.0.113.9', { 'x-api-key': 'admin-key' }],
  ])('is allowed if %s', async (_, address, headers) => {
    const allowed = access({ token: 'a-long-random-token' }).mayRead({ address, headers });
    expect(await allowed).toBe(true);
  });

  it.each([
    ['it comes from another network', '203.0.113.9', {}],
    ['it contains another token', '203.0.113.9', { authorization: 'Bearer another-random-token' }],
    ['it contains an empty token', '203.0.113.9', { authorization: 'Bearer ' }],
    ['it contains an API key without the scope admin', '203.0.113.9', { 'x-api-key': 'other-key' }],
    ['it contains an unknown API key', '203.0.113.9', { 'x-api-key': 'unknown' }],
    ['a proxy in an allowed network forwards it', '127.0.0.1', { 'x-forwarded-for': '127.0.0.1' }],
    ['it has no source address', undefined, {}],
  ])('is refused if %s', async (_, address, headers) => {
    const allowed = access({ token: 'a-long-random-token' }).mayRead({ address, headers });
    expect(await allowed).toBe(false);
  });

  it('is allowed with a token that contains spaces', async () => {
    const headers = { authorization: 'Bearer a token with spaces' };
    const spaced = access({ token: 'a token with spaces' });
    expect(await spaced.mayRead({ address: '203.0.113.9', headers })).toBe(true);
  });

  it('is decided in time that grows only linearly with the length of its headers', async () => {
    const headers = { authorization: `Bearer ${' '.repeat(200_000)}\u00a0` };
    const began = performance.now();
    const allowed = access({ token: 'a-long-random-token' }).mayRead({ address: '203.0.113.9', headers });
    expect(await allowed).toBe(false);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('with a token is refused if no token is configured', async () => {
    const headers = { authorization: 'Bearer x' };
    expect(await access({ networks: '' }).mayRead({ address: '127.0.0.1', headers })).toBe(false);
  });
});
