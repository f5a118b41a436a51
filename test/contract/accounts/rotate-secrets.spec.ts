import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  accountEncryptionContext,
  UpstreamApiKeyReencrypter,
  registerEncryptionKeyId,
  RedisAccountStore,
  RedisEncryptionKeyIds,
  SecretCipher,
  type StoredAccount,
} from '#accounts';
import {
  accountKeys,
  closeRedis,
  ConfigurationError,
  createLogger,
  newId,
  openRedis,
  parseNetworks,
  parseRedisAddress,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';
import {
  WebhookUrlChecker,
  DestinationGuard,
  EndpointSecretReencrypter,
  EndpointManager,
  EndpointSecretManager,
  RedisDeliveryStore,
  RedisEndpointStore,
  createHostNameResolver,
} from '#webhooks';
import { rotateAll } from '../../../apps/gateway/src/rotation/rotate-secrets.js';
import { eventually } from '../../support/eventually.js';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis, withTestRedis } from '../../support/redis-server.js';

const [OLD, NEW, LOST] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
const [OLD_CIPHER, NEW_CIPHER, LOST_CIPHER] = [
  new SecretCipher(OLD),
  new SecretCipher(NEW),
  new SecretCipher(LOST),
];
/** The keys of the processes during a rotation. */
const RING = new SecretCipher(NEW, [OLD]);
const URL = 'http://127.0.0.1:9/hook';

/** Counts: rotated, already current, broken. */
const counts = (result: Awaited<ReturnType<typeof rotateAll>>): number[][] =>
  [result.accountKeys, result.signingSecrets, result.webhookHeaders].map(
    ({ reencrypted, unchanged, failures }) => [reencrypted, unchanged, failures.length],
  );

describe.each([
  ['one Redis', startTestRedis],
  ['a Redis Cluster', startTestCluster],
])('the rotation of stored secrets (Redis layout: %s)', (_, start) => {
  let server: Awaited<ReturnType<typeof start>>;
  let redis: RedisClient;
  let prefix: string;
  let accounts: RedisAccountStore;
  let endpoints: RedisEndpointStore;
  let keys: RedisEncryptionKeyIds;

  beforeAll(async () => {
    server = await start();
    redis = openRedis(parseRedisAddress(server.url), 'failFast', () => undefined);
    await once(redis, 'ready');
  });
  afterAll(async () => {
    await closeRedis(redis);
    await server.dispose();
  });
  beforeEach(() => {
    prefix = newId('req');
    accounts = new RedisAccountStore(redis, prefix);
    endpoints = new RedisEndpointStore(redis, prefix, clockOfThisMachine);
    keys = new RedisEncryptionKeyIds(redis, prefix);
  });

  const rotate = (previous: readonly Buffer[] = [OLD]): ReturnType<typeof rotateAll> =>
    rotateAll(
      { ENCRYPTION_KEY: NEW, ENCRYPTION_KEYS_PREVIOUS: [...previous], REDIS_KEY_PREFIX: prefix },
      redis,
    );

  /** The webhooks, read by a process with this key. */
  const registry = (cipher: SecretCipher): EndpointManager => {
    const check = new WebhookUrlChecker(
      new DestinationGuard(parseNetworks('127.0.0.0/8')),
      createHostNameResolver(),
    );
    return new EndpointManager(
      endpoints,
      new RedisDeliveryStore(redis, prefix),
      check,
      cipher,
      clockOfThisMachine,
      { wake: () => Promise.resolve(), remind: () => Promise.resolve() },
      createLogger('test', 'silent'),
    );
  };
  const secretsOf = (cipher: SecretCipher): EndpointSecretManager =>
    new EndpointSecretManager(endpoints, cipher, clockOfThisMachine);

  const account = (id: string, cipher: SecretCipher): StoredAccount => ({
    id,
    baseUrl: 'https://upstream.example/v1',
    sealedApiKey: cipher.encrypt(`key-of-${id}`, accountEncryptionContext(id)),
    requestsPerSecond: 10,
    polling: true,
    createdAt: '2026-11-21T00:00:00.000Z',
    updatedAt: '2026-11-21T00:00:00.000Z',
  });

  /** A webhook with headers and two signing secrets. */
  async function endpoint(owner: string, cipher: SecretCipher): Promise<{ id: string; secrets: string[] }> {
    const headers = { 'x-token': `token-${owner}` };
    const { endpoint: made, secret } = await registry(cipher).create(owner, { url: URL, headers });
    const rotation = await secretsOf(cipher).rotate(owner, made.id, 3600);
    return { id: made.id, secrets: [rotation?.secret ?? '', secret] };
  }

  /** The secrets of a webhook that the new key alone decrypts. */
  async function opened(
    owner: string,
    id: string,
  ): Promise<{ secrets: string[]; headers: object | undefined }> {
    const stored = await endpoints.find(owner, id);
    return {
      secrets: (stored?.secrets ?? []).map(({ sealed }) => NEW_CIPHER.decrypt(sealed, id)),
      headers: (await registry(NEW_CIPHER).find(owner, id))?.headers,
    };
  }

  it('encrypts every secret of every account with the new key, and changes nothing else', async () => {
    await accounts.add(account('a', OLD_CIPHER));
    await accounts.add(account('b', OLD_CIPHER));
    const made = new Map<string, Awaited<ReturnType<typeof endpoint>>>();
    for (const owner of ['default', 'a', 'b']) made.set(owner, await endpoint(owner, OLD_CIPHER));
    const before = await endpoints.find('a', made.get('a')?.id ?? '');

    const result = await rotate();
    expect(counts(result)).toEqual([
      [2, 0, 0],
      [6, 0, 0],
      [3, 0, 0],
    ]);
    for (const owner of ['a', 'b']) {
      const stored = await accounts.find(owner);
      expect(NEW_CIPHER.decrypt(stored?.sealedApiKey ?? '', accountEncryptionContext(owner))).toBe(
        `key-of-${owner}`,
      );
      const unsealed = { sealedApiKey: '' };
      expect({ ...stored, ...unsealed }).toEqual({ ...account(owner, OLD_CIPHER), ...unsealed });
    }
    for (const [owner, { id, secrets }] of made)
      expect(await opened(owner, id)).toEqual({ secrets, headers: { 'x-token': `token-${owner}` } });
    const after = await endpoints.find('a', made.get('a')?.id ?? '');
    expect(after?.secrets.map(({ expiresAt }) => expiresAt)).toEqual(
      before?.secrets.map(({ expiresAt }) => expiresAt),
    );
    const unsealed = { secrets: [], sealedHeaders: '' };
    expect({ ...after, ...unsealed }).toEqual({ ...before, ...unsealed });
  });

  it('writes nothing in a second run, because the first run has encrypted every secret with the new key', async () => {
    await accounts.add(account('a', OLD_CIPHER));
    const { id } = await endpoint('a', OLD_CIPHER);
    await rotate();
    const before = [await accounts.list(), await endpoints.find('a', id)];
    expect(counts(await rotate())).toEqual([
      [0, 1, 0],
      [0, 2, 0],
      [0, 1, 0],
    ]);
    expect([await accounts.list(), await endpoints.find('a', id)]).toEqual(before);
  });

  it('encrypts the remaining secrets after an interruption', async () => {
    for (const id of ['a', 'b', 'c']) await accounts.add(account(id, OLD_CIPHER));
    let changes = 0;
    const mortal: Pick<RedisAccountStore, 'list' | 'change'> = {
      list: () => accounts.list(),
      change: (id, change) => {
        if (++changes > 1) return Promise.reject(new Error('killed'));
        return accounts.change(id, change);
      },
    };
    await expect(new UpstreamApiKeyReencrypter(mortal, RING).reencryptAll()).rejects.toThrow('killed');
    expect(counts(await rotate())[0]).toEqual([2, 1, 0]);
  });

  it('does not overwrite a secret or webhook that changed after the rotation read it', async () => {
    await accounts.add(account('a', OLD_CIPHER));
    const { id } = await endpoint('a', OLD_CIPHER);
    const { id: gone } = await endpoint('a', OLD_CIPHER);
    let fresh: string | undefined;
    const seals = new UpstreamApiKeyReencrypter(
      {
        list: async () => {
          const read = await accounts.list();
          const sealedApiKey = OLD_CIPHER.encrypt('another key', accountEncryptionContext('a'));
          await accounts.change('a', (before) => ({ ...before, sealedApiKey, requestsPerSecond: 77 }));
          return read;
        },
        change: (owner, change) => accounts.change(owner, change),
      },
      RING,
    );
    const endpointSeals = new EndpointSecretReencrypter(
      {
        list: async (owner) => {
          const read = await endpoints.list(owner);
          fresh = (await secretsOf(OLD_CIPHER).rotate(owner, id, 3600))?.secret;
          await registry(OLD_CIPHER).change(owner, id, {
            description: 'changed',
            headers: { 'x-token': 'new' },
          });
          await registry(OLD_CIPHER).remove(owner, gone);
          return read;
        },
        rewrite: (owner, which, change) => endpoints.rewrite(owner, which, change),
      },
      RING,
      clockOfThisMachine,
    );
    expect((await seals.reencryptAll()).reencrypted).toBe(1);
    const stored = await accounts.find('a');
    expect(stored?.requestsPerSecond).toBe(77);
    expect(NEW_CIPHER.decrypt(stored?.sealedApiKey ?? '', accountEncryptionContext('a'))).toBe('another key');

    const { secrets, headers } = await endpointSeals.reencryptAll('a');
    expect([secrets.reencrypted, headers.reencrypted]).toEqual([3, 1]);
    expect(await secretsOf(NEW_CIPHER).find('a', id)).toBe(fresh);
    expect(await registry(NEW_CIPHER).find('a', id)).toMatchObject({
      description: 'changed',
      headers: { 'x-token': 'new' },
    });
    expect(await endpoints.find('a', gone)).toBeUndefined();
  });

  it('reads a webhook again if another process changes the webhook before the rotation writes it', async () => {
    const { id } = await endpoint('a', OLD_CIPHER);
    const webhooks = accountKeys(prefix, 'a')('webhooks');
    let asked = 0;
    let meanwhile: Promise<unknown> = Promise.resolve();
    const stored = await endpoints.rewrite('a', id, (before) => {
      // The same connection sends this write before the write of the rotation.
      if (++asked === 1)
        meanwhile = redis.hset(webhooks, id, JSON.stringify({ ...before, description: 'another hand' }));
      return { ...before, sealedHeaders: null };
    });
    await meanwhile;
    expect(asked).toBe(2);
    expect(stored).toMatchObject({ description: 'another hand', sealedHeaders: null });
    expect(await endpoints.find('a', id)).toEqual(stored);
  });

  it('loses no change that is made during the rotation', async () => {
    const ids = Array.from({ length: 10 }, (__, i) => `a${i}`);
    for (const owner of ids) await accounts.add(account(owner, OLD_CIPHER));
    const made = await Promise.all(ids.map((owner) => endpoint(owner, OLD_CIPHER)));
    const changes = Array.from({ length: 5 }, async (__, turn) => {
      for (const [i, owner] of ids.entries()) {
        await registry(RING).change(owner, made[i]?.id ?? '', { headers: { 'x-token': `${owner}-${turn}` } });
        await accounts.change(owner, (before) => ({
          ...before,
          requestsPerSecond: before.requestsPerSecond + 1,
        }));
      }
    });
    const [result] = await Promise.all([rotate(), ...changes]);
    expect(counts(result).map(([, , broken]) => broken)).toEqual([0, 0, 0]);
    for (const [i, owner] of ids.entries()) {
      expect((await accounts.find(owner))?.requestsPerSecond).toBe(15);
      const { secrets, headers } = await opened(owner, made[i]?.id ?? '');
      expect(secrets).toEqual(made[i]?.secrets);
      expect(Object.values(headers ?? {})[0]).toMatch(new RegExp(`^${owner}-[0-4]$`));
    }
  });

  it('leaves a secret unchanged if its encryption key is missing, reports the id of that key, and rotates all other secrets', async () => {
    await accounts.add(account('a', OLD_CIPHER));
    await accounts.add(account('b', LOST_CIPHER));
    const lost = await endpoint('a', LOST_CIPHER);
    const whole = await endpoint('b', OLD_CIPHER);
    await keys.add(LOST_CIPHER.keyId);
    const before = [await accounts.find('b'), await endpoints.find('a', lost.id)];

    const result = await rotate();
    expect(counts(result)).toEqual([
      [1, 0, 1],
      [2, 0, 2],
      [1, 0, 1],
    ]);
    const { keyId } = LOST_CIPHER;
    expect(result.accountKeys.failures).toEqual([{ subject: 'account b', keyId }]);
    expect(result.webhookHeaders.failures).toEqual([
      { subject: `webhook ${lost.id} of the account a`, keyId },
    ]);
    expect([await accounts.find('b'), await endpoints.find('a', lost.id)]).toEqual(before);
    expect((await opened('b', whole.id)).secrets).toEqual(whole.secrets);
    expect((await keys.list()).sort()).toEqual([keyId, NEW_CIPHER.keyId].sort());

    await rotate([OLD, LOST]);
    expect((await opened('a', lost.id)).secrets).toEqual(lost.secrets);
    expect(await keys.list()).toEqual([NEW_CIPHER.keyId]);
  });

  it('leaves webhooks usable whose encryption key is lost: they are listed without headers, can be disabled, and get new secrets', async () => {
    const { id } = await endpoint('default', LOST_CIPHER);
    const { id: other } = await endpoint('default', OLD_CIPHER);
    await rotate();
    const webhooks = registry(NEW_CIPHER);
    const shown = (await webhooks.list('default')).map((webhook) => [webhook.id, webhook.headers]);
    expect(Object.fromEntries(shown)).toEqual({ [id]: {}, [other]: { 'x-token': 'token-default' } });
    expect(await webhooks.change('default', id, { enabled: false })).toMatchObject({
      enabled: false,
      headers: {},
    });
    const rotation = await secretsOf(NEW_CIPHER).rotate('default', id, 0);
    await webhooks.change('default', id, { headers: { 'x-token': 'new' } });
    expect(await opened('default', id)).toEqual({
      secrets: [rotation?.secret],
      headers: { 'x-token': 'new' },
    });
    expect(counts(await rotate()).map(([, , broken]) => broken)).toEqual([0, 0, 0]);
  });

  it('does not report a secret that cannot be decrypted if the secret has expired', async () => {
    const { endpoint: made } = await registry(LOST_CIPHER).create('default', { url: URL });
    await secretsOf(OLD_CIPHER).rotate('default', made.id, 1);
    await endpoints.rewrite('default', made.id, (before) => ({
      ...before,
      secrets: before.secrets.map(({ sealed, expiresAt }) => ({ sealed, expiresAt: expiresAt && 1 })),
    }));
    expect(counts(await rotate())[1]).toEqual([1, 0, 0]);
  });

  it('removes the recorded ids of encryption keys that no secret needs; a process without these keys then starts without an error', async () => {
    expect(await keys.registerUnlessKeysAreMissing(OLD_CIPHER)).toEqual([]);
    expect(await keys.registerUnlessKeysAreMissing(NEW_CIPHER)).toEqual([OLD_CIPHER.keyId]);
    expect(await keys.list()).toEqual([OLD_CIPHER.keyId]);
    expect(await keys.registerUnlessKeysAreMissing(RING)).toEqual([]);
    expect(await keys.registerUnlessKeysAreMissing(OLD_CIPHER)).toEqual([NEW_CIPHER.keyId]);
    await rotate();
    expect(await keys.list()).toEqual([NEW_CIPHER.keyId]);
    expect(await keys.registerUnlessKeysAreMissing(NEW_CIPHER)).toEqual([]);
    expect(await keys.registerUnlessKeysAreMissing(OLD_CIPHER)).toEqual([NEW_CIPHER.keyId]);
  });
});

describe('a process that starts while Redis is unavailable', () => {
  it('records the id of its encryption key once Redis is available, and reports an error if the process lacks a recorded key', async () => {
    await withTestRedis(async ({ url, server }) => {
      const open = (): RedisClient => openRedis(parseRedisAddress(url), 'failFast', () => undefined);
      const logger = createLogger('test', 'silent');
      await server.stop();
      const [right, wrong] = [open(), open()];
      try {
        const [reported, toldWrong]: [ConfigurationError[], ConfigurationError[]] = [[], []];
        const environment = (key: Buffer): Parameters<typeof registerEncryptionKeyId>[0] => ({
          ENCRYPTION_KEY: key,
          ENCRYPTION_KEYS_PREVIOUS: [],
          REDIS_KEY_PREFIX: 'tidings',
        });
        await registerEncryptionKeyId(environment(OLD), right, logger, (error) => reported.push(error));
        await server.restart();
        const keys = new RedisEncryptionKeyIds(right, 'tidings');
        await eventually('the key is recorded', async () => (await keys.list()).length === 1);
        expect(await keys.list()).toEqual([OLD_CIPHER.keyId]);

        await server.stop();
        await eventually('the connection is closed', () => wrong.status !== 'ready');
        await registerEncryptionKeyId(environment(NEW), wrong, logger, (error) => toldWrong.push(error));
        await server.restart();
        await eventually('the process with the wrong key is notified', () => toldWrong.length > 0);
        expect(toldWrong[0]).toBeInstanceOf(ConfigurationError);
        expect(toldWrong[0]?.message).toContain(OLD_CIPHER.keyId);
        await eventually(
          'the process with the right key has reconnected',
          async () => (await keys.list()).length === 1,
        );
        expect(reported).toEqual([]);
      } finally {
        await Promise.all([closeRedis(right), closeRedis(wrong)]);
      }
    });
  });
});
