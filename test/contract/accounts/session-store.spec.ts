import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  API_KEY_SCOPES,
  ApiKeyRegistry,
  FixedAccountDirectory,
  InMemoryApiKeyAuthenticator,
  type Principal,
  RedisAccountStore,
  RedisApiKeyStore,
  RedisRevocations,
  RedisSessionStore,
  SESSION_LIMITS,
  SessionService,
  type SessionStore,
  StoredApiKeyAuthenticator,
} from '#accounts';
import {
  clockOfThisMachine,
  closeRedis,
  newId,
  openRedis,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import { eventually } from '../../support/eventually.js';
import { MemorySessionStore } from '../../support/memory-session-store.js';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis } from '../../support/redis-server.js';

const FIXED: Principal = { keyId: 'environment', account: 'default', scopes: new Set(API_KEY_SCOPES) };
const MAX = 3;

const fixedKeys = (key: string): InMemoryApiKeyAuthenticator =>
  new InMemoryApiKeyAuthenticator([{ id: 'environment', key, account: 'default', scopes: API_KEY_SCOPES }]);

describe.each([
  ['memory', startTestRedis, true],
  ['one Redis', startTestRedis, false],
  ['a Redis Cluster', startTestCluster, false],
])('the sessions (store: %s)', (_, start, isFake) => {
  let server: Awaited<ReturnType<typeof start>>;
  let redis: RedisClient;
  let prefix: string;
  let store: SessionStore;
  let sessions: SessionService;
  let keyStore: RedisApiKeyStore;
  let accounts: RedisAccountStore;

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
    keyStore = new RedisApiKeyStore(redis, prefix);
    store = isFake ? new MemorySessionStore(keyStore, MAX) : new RedisSessionStore(redis, prefix, MAX);
    sessions = new SessionService(fixedKeys('the key'), store);
    accounts = new RedisAccountStore(redis, prefix);
    const times = { createdAt: '2026-11-21T00:00:00.000Z', updatedAt: '2026-11-21T00:00:00.000Z' };
    const rest = { baseUrl: 'https://upstream.example/v1', sealedApiKey: 'x', requestsPerSecond: 1 };
    await accounts.add({ id: 'sales', ...rest, polling: true, ...times });
  });

  /** Creates an API key of the account `sales`, and returns its principal. */
  async function storedKey(expiresAt?: number): Promise<Principal> {
    const registry = new ApiKeyRegistry(new FixedAccountDirectory([]), keyStore, clockOfThisMachine);
    const request = { account: 'sales', name: 'k', scopes: ['events:read', 'admin'] as const };
    const made = await registry.create({ ...request, ...(expiresAt === undefined ? {} : { expiresAt }) });
    const caller = await new StoredApiKeyAuthenticator(
      new InMemoryApiKeyAuthenticator([]),
      keyStore,
    ).authenticate(made?.key ?? '');
    if (caller === undefined) throw new Error('the API key is invalid');
    return caller;
  }
  const withLimits = (limits: Partial<typeof SESSION_LIMITS>): SessionService =>
    new SessionService(fixedKeys('the key'), store, { ...SESSION_LIMITS, ...limits });
  const revoked = async (): Promise<readonly string[]> =>
    store instanceof MemorySessionStore
      ? store.revoked
      : (await new RedisRevocations(redis, prefix).after('0-0')).ids;

  const clockGoesOn = async (): Promise<void> => {
    const before = Date.now();
    await eventually('the clock goes on', () => Date.now() > before + 1);
  };

  it('have the account, the scopes and the expiry of their API key; invalid session tokens are rejected', async () => {
    const end = Date.now() + 86_400_000;
    const [owner, dated] = [await storedKey(), await storedKey(end)];
    const { token, session } = await sessions.create(owner);
    expect(session).toEqual({
      id: expect.stringMatching(/^ses_\w{32}$/),
      ...{ account: 'sales', keyId: owner.keyId, scopes: ['events:read', 'admin'] },
      ...{ expiresAt: expect.any(String), idleSeconds: 1_800 },
    });
    expect(Math.abs(Date.parse(session.expiresAt) - Date.now() - 43_200_000)).toBeLessThan(5_000);
    const caller = await sessions.authenticate(token);
    expect(caller).toEqual({ ...owner, session: { id: session.id, endsAt: expect.any(Number) } });
    expect(Math.abs(Number(caller?.session?.endsAt) - Date.now() - 1_800_000)).toBeLessThan(5_000);
    expect(await sessions.find(token)).toEqual({ session, caller });
    const other = await sessions.create(dated);
    expect(await sessions.authenticate(other.token)).toMatchObject({ expiresAt: end });
    const fixed = await sessions.create(FIXED);
    expect(await sessions.authenticate(fixed.token)).toMatchObject({ keyId: 'environment' });
    for (const text of ['', 'ts_', `${token}x`, token.toLowerCase(), session.id, `ts_${'a'.repeat(43)}`])
      expect(await sessions.authenticate(text)).toBeUndefined();
  });

  it('end when they are unused for the idle time; a request restarts the idle time, at most once per renewal interval', async () => {
    const short = withLimits({ idleMs: 1_500, renewMs: 300 });
    const [used, unused, checked] = [
      await short.create(await storedKey()),
      await short.create(await storedKey()),
      await short.create(await storedKey()),
    ];
    const ends = new Set<number | undefined>();
    await eventually('the sessions without requests end', async () => {
      ends.add((await short.authenticate(used.token))?.session?.endsAt);
      const found = await short.find(checked.token);
      return found === undefined && (await short.find(unused.token)) === undefined;
    });
    expect(await short.authenticate(used.token)).toBeDefined();
    const times = [...ends].map(Number);
    expect(times.length).toBeGreaterThan(1);
    for (const [i, time] of times.entries())
      if (i > 0) expect(time - Number(times[i - 1])).toBeGreaterThanOrEqual(300);
  });

  it('end at the end of their lifetime however often they are used', async () => {
    const short = withLimits({ idleMs: 600, renewMs: 50, lifetimeMs: 1_200 });
    const { token, session } = await short.create(FIXED);
    await eventually(
      'the session ends',
      async () =>
        (await short.authenticate(token)) === undefined && Date.now() >= Date.parse(session.expiresAt),
    );
    expect(Date.now() - Date.parse(session.expiresAt)).toBeLessThan(1_000);
  });

  it('end when their API key expires', async () => {
    const end = Date.now() + 60_000;
    const { token, session } = await sessions.create(await storedKey(end));
    expect(Date.parse(session.expiresAt)).toBe(end);
    expect((await sessions.authenticate(token))?.session?.endsAt).toBe(end);
    const soon = await storedKey(Date.now() + 500);
    const short = await sessions.create(soon);
    await eventually('the session ends', async () => (await sessions.find(short.token)) === undefined);
  });

  it('end when their API key is revoked, or when its account is removed', async () => {
    const [owner, other] = [await storedKey(), await storedKey()];
    const [made, others] = [await sessions.create(owner), await sessions.create(other)];
    await keyStore.remove(owner.keyId);
    expect(await sessions.authenticate(made.token)).toBeUndefined();
    expect(await sessions.authenticate(others.token)).toBeDefined();
    await accounts.remove('sales');
    expect(await sessions.authenticate(others.token)).toBeUndefined();
    if (!isFake) expect(await redis.exists(`${prefix}:{.accounts}:session:${made.session.id}`)).toBe(0);
    if (!isFake) expect(await redis.exists(`${prefix}:{.accounts}:session:${others.session.id}`)).toBe(0);
  });

  it('that were created with the API key of the environment variable API_KEY end when that key is changed or removed', async () => {
    const { token } = await sessions.create(FIXED);
    expect(await sessions.authenticate(token)).toBeDefined();
    expect(await new SessionService(fixedKeys('another key'), store).authenticate(token)).toBeUndefined();
    expect(
      await new SessionService(new InMemoryApiKeyAuthenticator([]), store).authenticate(token),
    ).toBeUndefined();
  });

  it('can be ended only once, and are then recorded as revoked', async () => {
    const [gone, stays] = [await sessions.create(FIXED), await sessions.create(FIXED)];
    expect(await sessions.end(gone.token)).toBe(true);
    expect(await sessions.end(gone.token)).toBe(false);
    expect(await sessions.authenticate(gone.token)).toBeUndefined();
    expect(await sessions.authenticate(stays.token)).toBeDefined();
    expect(await revoked()).toEqual([gone.session.id]);
  });

  it('are limited per API key: a new session ends the sessions that the caller names and, if the limit is exceeded, the least recently used session', async () => {
    const eager = withLimits({ renewMs: 1 });
    const first = await eager.create(FIXED);
    const second = await eager.create(FIXED, [first.session.id]);
    expect(await eager.authenticate(first.token)).toBeUndefined();
    const third = await eager.create(FIXED);
    const created = Date.now();
    await eventually('the clock goes on', () => Date.now() > created);
    const fourth = await eager.create(FIXED);
    const foreign = await eager.create(await storedKey());
    const before = (await eager.find(second.token))?.caller.session?.endsAt;
    await eventually('the second session is used', async () => {
      const caller = await eager.authenticate(second.token);
      return Number(caller?.session?.endsAt) > Math.max(Number(before), Date.now());
    });
    const fifth = await eager.create(FIXED);
    const left = await Promise.all(
      [second, third, fourth, fifth, foreign].map(
        async ({ token }) => (await eager.find(token)) !== undefined,
      ),
    );
    expect(left).toEqual([true, false, true, true, true]);
    expect(await revoked()).toEqual([first.session.id, third.session.id]);
  });

  it('that exceed the limit end in the order of their last use, even if their API key expires before the idle time is over', async () => {
    const eager = withLimits({ renewMs: 1 });
    const owner = await storedKey(Date.now() + 60_000);
    const made: Awaited<ReturnType<typeof eager.create>>[] = [];
    for (let i = 0; i < MAX; i += 1) {
      made.push(await eager.create(owner));
      await clockGoesOn();
    }
    // The ids are random: the order of the uses is the reverse of the order of the ids.
    made.sort((a, b) => (a.session.id < b.session.id ? 1 : -1));
    for (const { token } of made) {
      expect(await eager.authenticate(token)).toBeDefined();
      await clockGoesOn();
    }
    await eager.create(owner);
    expect(await revoked()).toEqual([made[0]?.session.id]);
  });

  it('do not count for the limit once they have reached the end of their lifetime', async () => {
    const left = await sessions.create(FIXED);
    await clockGoesOn();
    const gone = await withLimits({ lifetimeMs: 300 }).create(FIXED);
    await sessions.create(FIXED);
    await eventually('the session ends', async () => (await sessions.find(gone.token)) === undefined);
    await sessions.create(FIXED);
    expect(await sessions.find(left.token)).toBeDefined();
    expect(await revoked()).toEqual([]);
  });
});

describe('the sessions in Redis', () => {
  let server: Awaited<ReturnType<typeof startTestRedis>>;
  let redis: RedisClient;
  const key = (...parts: string[]): string => ['tidings', '{.accounts}', ...parts].join(':');

  beforeAll(async () => {
    server = await startTestRedis();
    redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
    await once(redis, 'ready');
  });
  afterAll(async () => {
    await closeRedis(redis);
    await server.dispose();
  });

  it('contain only digests of session tokens, never the tokens, and all their Redis keys expire', async () => {
    const sessions = new SessionService(fixedKeys('the key'), new RedisSessionStore(redis, 'tidings'));
    const { token, session } = await sessions.create(FIXED);
    const names = await redis.keys('*');
    expect(names.sort()).toEqual([key('session', session.id), key('sessions-of', 'environment')].sort());
    for (const name of names) {
      const stored = await redis.dump(name);
      for (const secret of [token.slice(3), 'the key'])
        expect([name.includes(secret), stored.includes(secret)]).toEqual([false, false]);
    }
    const livesOf = await Promise.all(names.sort().map((name) => redis.pttl(name)));
    expect(livesOf.map((ms) => Math.ceil(ms / 60_000))).toEqual([30, 720]);
    await sessions.end(token);
  });

  it('can be read, renewed and ended while Redis is full, but not created', async () => {
    const sessions = new SessionService(fixedKeys('the key'), new RedisSessionStore(redis, 'tidings'), {
      ...SESSION_LIMITS,
      renewMs: 1,
    });
    const { token, session } = await sessions.create(FIXED);
    await redis.config('SET', 'maxmemory', '1mb');
    const before = Number((await sessions.find(token))?.caller.session?.endsAt);
    await eventually(
      'the idle time is renewed',
      async () => Number((await sessions.authenticate(token))?.session?.endsAt) > before,
    );
    const ends = await redis.zscore(key('sessions-of', 'environment'), session.id);
    expect(Number(ends)).toBe((await sessions.find(token))?.caller.session?.endsAt);
    await expect(sessions.create(FIXED)).rejects.toThrow('OOM');
    expect(await sessions.end(token)).toBe(true);
    await redis.config('SET', 'maxmemory', '0');
  });

  it('can be read while Redis rejects every write', async () => {
    const sessions = new SessionService(fixedKeys('the key'), new RedisSessionStore(redis, 'tidings'), {
      ...SESSION_LIMITS,
      renewMs: 0,
    });
    const { token } = await sessions.create(FIXED);
    await redis.config('SET', 'min-replicas-to-write', '1');
    expect(await sessions.authenticate(token)).toBeDefined();
    await redis.config('SET', 'min-replicas-to-write', '0');
  });
});
