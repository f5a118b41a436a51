import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { accountEncryptionContext, RedisAccountStore, RedisEncryptionKeyIds, SecretCipher } from '#accounts';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';
import { eventually } from '../support/eventually.js';
import { type Command, ROOT, runToEnd, startCommand } from '../support/process.js';
import { Product } from '../support/product.js';
import { withTestRedis } from '../support/redis-server.js';
import { Tenant } from '../support/tenant.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
const text = (key: Buffer): string => key.toString('base64');
const SCRIPT = join(ROOT, 'dist/rotate-secrets.js');

const asNode = (environment: Readonly<Record<string, string>>): Command =>
  startCommand(process.execPath, [SCRIPT], environment);

let leftovers: AsyncDisposable[] = [];
afterEach(async () => {
  const all = leftovers;
  leftovers = [];
  for (const each of all) await each[Symbol.asyncDispose]();
});
function disposeLater<T extends AsyncDisposable>(each: T): T {
  leftovers.push(each);
  return each;
}

/** An account with the phone number that it sends to and its webhook receiver. */
interface Side {
  json: <T>(method: string, path: string, body?: object) => Promise<T>;
  number: string;
  webhook: string;
  receiver: WebhookReceiver;
}

describe('npm run rotate-secrets', () => {
  it('replaces the encryption key while the product runs and its processes are restarted one after another', async () => {
    // The environment of all processes that start from now on.
    const variables: Record<string, string> = { ENCRYPTION_KEY: text(OLD) };
    const product = disposeLater(await Product.start(variables));
    for (const key of [OLD, NEW]) product.canaries.addSecret('an encryption key', text(key));
    const tenant = disposeLater(await Tenant.start(product, 'sales'));

    const sides: Side[] = [];
    for (const [owner, number] of [
      [product, '+15551230001'],
      [tenant, '+15551230002'],
    ] as const) {
      const receiver = disposeLater(await WebhookReceiver.start(product.api));
      const json: Side['json'] = (method, path, body) => owner.json(method, path, body);
      const { id, secret } = await json<{ id: string; secret: string }>('POST', '/v1/webhooks', {
        url: receiver.url,
        headers: { 'x-token': 'a-token-of-the-subscriber' },
      });
      // The receiver keeps verifying with the previous secret, which stays valid beside the new one.
      receiver.secret = secret;
      await json('POST', `/v1/webhooks/${id}/rotate-secret`, { overlapSeconds: 3600 });
      sides.push({ json, number, webhook: id, receiver });
    }

    /** Each account relays a send, and each receiver gets its event with a valid signature. */
    const works = async (): Promise<void> => {
      for (const { json, number, receiver } of sides) {
        const message = `Hello ${randomBytes(6).toString('hex')}`;
        const { id } = await json<{ id: string }>('POST', '/v1/messages/send', {
          phoneNumber: number,
          message,
        });
        await eventually('the event of the send arrives', () =>
          receiver.eventsOfType('message.sent').some(({ data }) => data['sendId'] === id),
        );
        expect(receiver.invalidRequests).toEqual([]);
      }
    };
    const restart = async (which: 'gateway' | 'worker', changes: Record<string, string>): Promise<void> => {
      Object.assign(variables, changes);
      await product[which].stop();
      await (which === 'gateway' ? product.startGateway() : product.startWorker());
      await works();
    };
    const rotate = async (): Promise<string> => {
      const command = startCommand('npm', ['run', '--silent', 'rotate-secrets'], product.environment());
      const { code, stdout, stderr } = await command.ended;
      expect(product.canaries.leaksInLog('the command', stdout + stderr)).toEqual([]);
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('cannot')]);
      return stdout;
    };
    /** Checks how a gateway and a worker with only this key exit. */
    const alone = async (key: Buffer): Promise<void> => {
      for (const name of ['gateway', 'worker'] as const) {
        const { code, stderr } = await runToEnd(name, {
          ...product.environment(),
          ENCRYPTION_KEY: text(key),
          ENCRYPTION_KEYS_PREVIOUS: '',
          API_KEY: product.apiKey,
          PORT: '0',
          WORKER_PORT: '0',
        });
        expect(code).toBe(78);
        expect(stderr).toMatch(
          /^ENCRYPTION_KEY: .*[0-9a-f]{8}.*ENCRYPTION_KEYS_PREVIOUS.*npm run rotate-secrets.*\n$/,
        );
      }
    };

    await works();
    await alone(NEW);
    for (const which of ['gateway', 'worker'] as const)
      await restart(which, { ENCRYPTION_KEYS_PREVIOUS: text(NEW) });
    await restart('gateway', { ENCRYPTION_KEY: text(NEW), ENCRYPTION_KEYS_PREVIOUS: text(OLD) });
    // A worker without the new key must still decrypt what this gateway encrypts, since every secret signs.
    for (const { json, webhook } of sides)
      await json('POST', `/v1/webhooks/${webhook}/rotate-secret`, { overlapSeconds: 3600 });
    await works();
    await restart('worker', {});
    await alone(NEW);

    expect(await rotate()).toBe(
      'upstream API keys of accounts: 1 rotated, 0 already encrypted with the current key, 0 could not be decrypted\n' +
        'signing secrets of webhooks: 4 rotated, 2 already encrypted with the current key, 0 could not be decrypted\n' +
        'request headers of webhooks: 2 rotated, 0 already encrypted with the current key, 0 could not be decrypted\n',
    );
    await works();
    expect(await rotate()).toMatch(/^.*: 0 rotated, 1 .*\n.*: 0 rotated, 6 .*\n.*: 0 rotated, 2 .*\n$/);
    for (const which of ['gateway', 'worker'] as const)
      await restart(which, { ENCRYPTION_KEYS_PREVIOUS: '' });
    await alone(OLD);
    // A dozen processes start one after another.
  });

  it('can be killed in the middle of a run, and is completed by another run', async () => {
    await withTestRedis(async ({ url }) => {
      const redis = openRedis(parseRedisAddress(url), 'failFast', () => undefined);
      await once(redis, 'ready');
      try {
        const store = new RedisAccountStore(redis, 'tidings');
        const [before, after] = [new SecretCipher(OLD), new SecretCipher(NEW)];
        const ids = Array.from({ length: 1000 }, (_, i) => `account-${i}`);
        const fields = {
          ...{ baseUrl: 'http://127.0.0.1:9/v1', requestsPerSecond: 1, polling: false },
          ...{ createdAt: '2026-11-21T00:00:00.000Z', updatedAt: '2026-11-21T00:00:00.000Z' },
        };
        for (const id of ids)
          await store.add({
            id,
            ...fields,
            sealedApiKey: before.encrypt(`key-of-${id}`, accountEncryptionContext(id)),
          });
        const current = async (): Promise<number> =>
          (await store.list()).filter(({ sealedApiKey }) => sealedApiKey.startsWith(`${after.keyId}.`))
            .length;
        const keys = new RedisEncryptionKeyIds(redis, 'tidings');
        await keys.registerUnlessKeysAreMissing(before);

        const environment = {
          REDIS_URL: url,
          ENCRYPTION_KEY: text(NEW),
          ENCRYPTION_KEYS_PREVIOUS: text(OLD),
        };
        const killed = asNode(environment);
        await eventually('some secrets are rotated', async () => (await current()) > 0);
        killed.child.kill('SIGKILL');
        expect((await killed.ended).code).toBeNull();
        const done = await current();
        expect(done).toBeGreaterThan(0);
        expect(done).toBeLessThan(ids.length);
        expect((await keys.list()).sort()).toEqual([before.keyId, after.keyId].sort());

        const { code, stdout } = await asNode(environment).ended;
        expect(code).toBe(0);
        expect(stdout).toContain(
          `upstream API keys of accounts: ${ids.length - done} rotated, ${done} already encrypted with the current key, 0 `,
        );
        expect(await keys.list()).toEqual([after.keyId]);
        for (const { id, sealedApiKey } of await store.list())
          expect(after.decrypt(sealedApiKey, accountEncryptionContext(id))).toBe(`key-of-${id}`);

        const lost = await asNode({ ...environment, ENCRYPTION_KEY: text(randomBytes(32)) }).ended;
        expect(lost.code).toBe(1);
        expect(lost.stdout).toContain(
          `0 rotated, 0 already encrypted with the current key, 1000 could not be decrypted; ids of their encryption keys: ${after.keyId}`,
        );
        expect(lost.stderr).toContain(
          `account account-7: cannot decrypt the upstream API key (encrypted with the key ${after.keyId})`,
        );
        expect(await current()).toBe(ids.length);
      } finally {
        await closeRedis(redis);
      }
    });
  });

  it('reports invalid environment variables and an unavailable Redis, and needs no UPSTREAM_* variable', async () => {
    const bad = await asNode({ REDIS_URL: 'redis://127.0.0.1:1', ENCRYPTION_KEYS_PREVIOUS: 'c2hvcnQ=' })
      .ended;
    expect(bad.code).toBe(78);
    expect(bad.stderr.match(/^\w+/gm)?.sort()).toEqual(['ENCRYPTION_KEY', 'ENCRYPTION_KEYS_PREVIOUS']);
    expect(bad.stderr).not.toContain('c2hvcnQ');
    const away = await asNode({ REDIS_URL: 'redis://127.0.0.1:1', ENCRYPTION_KEY: text(NEW) }).ended;
    expect([away.code, away.stdout]).toEqual([1, '']);
    expect(away.stderr).toContain('Cannot connect to Redis at REDIS_URL');
  });
});
