import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  AccountConflictError,
  ApiKeyRegistry,
  FixedAccountDirectory,
  InMemoryApiKeyAuthenticator,
  type Principal,
  RedisAccountStore,
  RedisApiKeyStore,
  RedisRevocations,
  RedisTokenStore,
  StoredApiKeyAuthenticator,
  TokenService,
  TOKEN_SCOPES,
} from '#accounts';
import {
  clockOfThisMachine,
  closeRedis,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis } from '../../support/redis-server.js';

const DAY_MS = 86_400_000;
const FIXED: Principal = { keyId: 'environment', account: 'default', scopes: new Set(TOKEN_SCOPES) };
const WANTED = { scopes: TOKEN_SCOPES, expiresInSeconds: 900 };

const fixedKeys = (key: string): InMemoryApiKeyAuthenticator =>
  new InMemoryApiKeyAuthenticator([{ id: 'environment', key, account: 'default', scopes: TOKEN_SCOPES }]);

describe.each([
  ['one Redis', startTestRedis],
  ['a Redis Cluster', startTestCluster],
])('the tokens (Redis layout: %s)', (_, start) => {
  let server: Awaited<ReturnType<typeof start>>;
  let redis: RedisClient;
  let prefix: string;
  let store: RedisTokenStore;
  let tokens: TokenService;
  let keyStore: RedisApiKeyStore;
  let accounts: RedisAccountStore;
  let revocations: RedisRevocations;

  beforeAll(async () => {
    server = await start();
    redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
    await once(redis, 'ready');
  });
  afterAll(async () => {
    await closeRedis(redis);
    await server.dispose();
  });
  beforeEach(async () => {
    prefix = newId('req');
    store = new RedisTokenStore(redis, prefix, 3);
    tokens = new TokenService(fixedKeys('the key'), store);
    keyStore = new RedisApiKeyStore(redis, prefix);
    accounts = new RedisAccountStore(redis, prefix);
    revocations = new RedisRevocations(redis, prefix);
    const times = { createdAt: '2026-11-21T00:00:00.000Z', updatedAt: '2026-11-21T00:00:00.000Z' };
    const rest = { baseUrl: 'https://upstream.example/v1', sealedApiKey: 'x', requestsPerSecond: 1 };
    await accounts.add({ id: 'sales', ...rest, polling: true, ...times });
  });

  /** Creates an API key of the account `sales`, and returns its principal. */
  async function storedKey(expiresAt?: number): Promise<Principal> {
    const registry = new ApiKeyRegistry(new FixedAccountDirectory([]), keyStore, clockOfThisMachine);
    const request = { account: 'sales', name: 'k', scopes: TOKEN_SCOPES };
    const made = await registry.create({ ...request, ...(expiresAt === undefined ? {} : { expiresAt }) });
    const caller = await new StoredApiKeyAuthenticator(
      new InMemoryApiKeyAuthenticator([]),
      keyStore,
    ).authenticate(made?.key ?? '');
    if (caller === undefined) throw new Error('the API key is invalid');
    return caller;
  }
  const key = (...parts: string[]): string => [prefix, '{.accounts}', ...parts].join(':');

  it('authenticate a caller with the account, the API key, the scopes, the contacts and the expiry of the token', async () => {
    const owner = await storedKey();
    const before = Date.now();
    const made = await tokens.create(owner, {
      ...WANTED,
      scopes: ['events:read'],
      contactIds: ['a', 'b', 'a'],
    });
    const caller = await tokens.authenticate(made.token);
    expect(caller).toEqual({
      ...{ keyId: owner.keyId, account: 'sales', tokenId: made.id },
      ...{ scopes: new Set(['events:read']), contactIds: new Set(['a', 'b']) },
      expiresAt: Date.parse(made.expiresAt),
    });
    expect(Math.abs(Date.parse(made.expiresAt) - before - 900_000)).toBeLessThan(5_000);
    const open = await tokens.create(owner, WANTED);
    expect(await tokens.authenticate(open.token)).not.toHaveProperty('contactIds');
    for (const text of [
      '',
      'tt_',
      `${made.token}x`,
      made.token.toLowerCase(),
      made.id,
      `tt_${'a'.repeat(43)}`,
    ])
      expect(await tokens.authenticate(text)).toBeUndefined();
  });

  it('are stored only as digests; the stored token expires with the token, and the list of tokens of an API key with the last token', async () => {
    const made = await tokens.create(FIXED, { ...WANTED, expiresInSeconds: 60 });
    const longer = await tokens.create(FIXED, { ...WANTED, expiresInSeconds: 600 });
    const stored = JSON.stringify([
      await redis.hgetall(key('token', made.id)),
      await redis.zrange(key('tokens-of', 'environment'), '0', '-1'),
    ]);
    expect(stored).toContain(made.id);
    for (const secret of [made.token, made.token.slice(3), 'the key']) expect(stored).not.toContain(secret);
    const livesOf = await Promise.all(
      [key('token', made.id), key('token', longer.id), key('tokens-of', 'environment')].map((name) =>
        redis.pttl(name),
      ),
    );
    expect(livesOf.map((ms) => Math.ceil(ms / 60_000))).toEqual([1, 10, 10]);
  });

  it('end when they expire, or when their API key expires if that is earlier', async () => {
    const end = Date.now() + 60_000;
    const owner = await storedKey(end);
    const made = await tokens.create(owner, { ...WANTED, expiresInSeconds: DAY_MS / 1_000 });
    expect(Date.parse(made.expiresAt)).toBe(end);
    expect(await tokens.authenticate(made.token)).toMatchObject({ expiresAt: end });
    // Simulates the end of the minute.
    await redis.hset(key('token', made.id), { expiresAt: String(Date.now() - 1) });
    expect(await tokens.authenticate(made.token)).toBeUndefined();
    const other = await tokens.create(owner, WANTED);
    const stored = JSON.parse((await redis.hget(key('api-keys'), owner.keyId)) ?? '') as object;
    const over = JSON.stringify({ ...stored, expiresAt: new Date(Date.now() - 1).toISOString() });
    await redis.hset(key('api-keys'), owner.keyId, over);
    expect(await tokens.authenticate(other.token)).toBeUndefined();
  });

  it('end when their API key or its account is removed, and are then deleted from Redis', async () => {
    const [owner, other] = [await storedKey(), await storedKey()];
    const [made, others] = [await tokens.create(owner, WANTED), await tokens.create(other, WANTED)];
    await keyStore.remove(owner.keyId);
    expect(await tokens.authenticate(made.token)).toBeUndefined();
    expect(await tokens.authenticate(others.token)).toBeDefined();
    expect(await redis.exists(key('token', made.id))).toBe(0);
    await accounts.remove('sales');
    expect(await tokens.authenticate(others.token)).toBeUndefined();
    expect(await redis.exists(key('token', others.id))).toBe(0);
  });

  it('that were created with the API key of the environment variable API_KEY end when that key is changed or removed', async () => {
    const made = await tokens.create(FIXED, WANTED);
    expect(await tokens.authenticate(made.token)).toMatchObject({ keyId: 'environment' });
    expect(await new TokenService(fixedKeys('another key'), store).authenticate(made.token)).toBeUndefined();
    expect(
      await new TokenService(new InMemoryApiKeyAuthenticator([]), store).authenticate(made.token),
    ).toBeUndefined();
  });

  it('are limited per API key; revoked and expired tokens do not count', async () => {
    const made = [];
    for (let i = 0; i < 3; i++) made.push(await tokens.create(FIXED, WANTED));
    await expect(tokens.create(FIXED, WANTED)).rejects.toThrow(AccountConflictError);
    await expect(tokens.create(await storedKey(), WANTED)).resolves.toBeDefined();
    expect(await tokens.revoke('default', made[0]?.id ?? '')).toBe(true);
    made.push(await tokens.create(FIXED, WANTED));
    await expect(tokens.create(FIXED, WANTED)).rejects.toThrow('limit');
    // Simulates the expiry of a token.
    await redis.zadd(key('tokens-of', 'environment'), Date.now() - 1, made[1]?.id ?? '');
    await expect(tokens.create(FIXED, WANTED)).resolves.toBeDefined();
  });

  it('can be revoked only once, and only for the account that they belong to', async () => {
    const made = await tokens.create(FIXED, WANTED);
    expect(await tokens.revoke('sales', made.id)).toBe(false);
    expect(await tokens.authenticate(made.token)).toBeDefined();
    expect(await tokens.revoke('default', made.id)).toBe(true);
    expect(await tokens.authenticate(made.token)).toBeUndefined();
    expect(await tokens.revoke('default', made.id)).toBe(false);
  });

  it('have a list of revocations that contains each revoked token or API key once, and that can be read from any position', async () => {
    const start = await revocations.end();
    expect(await revocations.after(start)).toEqual({ ids: [], position: start });
    const [one, two] = [await storedKey(), await storedKey()];
    const made = await tokens.create(one, WANTED);
    await tokens.revoke('sales', made.id);
    await tokens.revoke('sales', made.id);
    const first = await revocations.after(start);
    expect(first.ids).toEqual([made.id]);
    expect(await revocations.end()).toBe(first.position);
    await keyStore.remove(one.keyId);
    await accounts.remove('sales');
    expect((await revocations.after(first.position)).ids).toEqual([one.keyId, two.keyId]);
    expect(await redis.pttl(key('revocations'))).toBeGreaterThan(0);
  });
});

describe('tokens and API keys', () => {
  it('can be revoked while Redis is full', async () => {
    await using server = await startTestRedis();
    const redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
    await once(redis, 'ready');
    const tokens = new TokenService(fixedKeys('k'), new RedisTokenStore(redis, 'tidings'));
    const keys = new RedisApiKeyStore(redis, 'tidings');
    const registry = new ApiKeyRegistry(
      new FixedAccountDirectory([{ id: 'a', baseUrl: '', apiKey: '', requestsPerSecond: 1, polling: true }]),
      keys,
      clockOfThisMachine,
    );
    const apiKey = await registry.create({ account: 'a', name: 'k', scopes: ['admin'] });
    const made = await tokens.create(FIXED, WANTED);
    await redis.config('SET', 'maxmemory', '1mb');
    await expect(tokens.create(FIXED, WANTED)).rejects.toThrow('OOM');
    expect(await tokens.revoke('default', made.id)).toBe(true);
    expect(await registry.remove(apiKey?.apiKey.id ?? '')).toBe(true);
    const { ids } = await new RedisRevocations(redis, 'tidings').after('0-0');
    expect(ids).toEqual([made.id, apiKey?.apiKey.id]);
    await closeRedis(redis);
  });
});
