import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { startEmbeddedRedis } from '#embedded-redis';
import { ROOT, startCommand } from '../support/process.js';
import { readSnapshot, restoreFiles } from './snapshot.js';
import type { Upgraded } from './upgraded.js';

/** Returns a reply without the times at which API keys were last used: the requests of this test change them. */
function withoutLastUses(reply: object): unknown {
  return JSON.parse(
    JSON.stringify(reply, (field, value: unknown) => (field === 'lastUsedAt' ? undefined : value)),
  );
}

/**
 * Declares the tests that the present build shows and decrypts what an old build stored.
 * @param name see `readSnapshot`
 * @param upgradedOf returns the present build, whose worker has not started yet
 */
export function testShownAsBefore(name: string, upgradedOf: () => Upgraded): void {
  let upgraded: Upgraded;
  beforeAll(() => {
    upgraded = upgradedOf();
  });

  describe('the gateway after an upgrade, with data that an old build stored,', () => {
    // Fields may be added. Cursors in the paths are those that the old build gave.
    it.each([
      ['sends and their pages', /^\/v1\/sends/],
      ['webhooks and their secrets', /^\/v1\/webhooks(\/\w+(\/secret)?)?$/],
      ['deliveries and their pages', /\/deliveries/],
      ['events from each cursor', /^\/v1\/events/],
      ['API keys', /^\/v1\/api-keys/],
      ...(name === '5f68bc9'
        ? []
        : [
            ['conversations and their pages', /^\/v1\/conversations/] as const,
            // The first page shows what the requests of this test added to the audit log.
            ['audit entries from each cursor', /^\/v1\/audit.*cursor=/] as const,
          ]),
    ])('shows the same %s as the old build', async (_, wanted) => {
      const answers = upgraded.snapshot.answers.filter(({ path }) => wanted.test(path));
      expect(answers.length).toBeGreaterThan(0);
      for (const { account, path, reply } of answers) {
        expect({ path, reply: await upgraded.json('GET', path, undefined, account) }).toMatchObject({
          path,
          reply: withoutLastUses(reply),
        });
      }
    });

    it('shows the same accounts as the old build; only the base URL of the account `default` comes from an environment variable', async () => {
      const [before] = upgraded.answersTo<{ accounts: { id: string }[] }>(/^\/v1\/accounts$/);
      const baseUrl = upgraded.baseUrlOf('default');
      const expected = before?.accounts.map((one) => (one.id === 'default' ? { ...one, baseUrl } : one));
      expect(await upgraded.json('GET', '/v1/accounts')).toMatchObject({ accounts: expected });
    });

    it('accepts the same API keys with the same scopes as the old build', async () => {
      const status = async (name: string, path: string): Promise<number> => {
        const key = upgraded.snapshot.names.keys[name] ?? '';
        return (await upgraded.call('GET', path, undefined, { 'X-API-Key': key })).status;
      };
      expect(await status('shuffled', '/v1/events')).toBe(200);
      expect(await status('reader', '/v1/sends')).toBe(200);
      expect(await status('reader', '/v1/events')).toBe(403);
      expect(await status('expired', '/v1/sends')).toBe(401);
      expect(await status('revoked', '/v1/sends')).toBe(401);
    });

    it('returns the stored send for an idempotency key that was used with the old build', async () => {
      const { idempotent, sends } = upgraded.snapshot.names;
      for (const [name, { key, body }] of Object.entries(idempotent)) {
        const headers = { 'Idempotency-Key': key };
        const again = await upgraded.call('POST', '/v1/messages/send', body, headers);
        expect(again.headers.get('idempotent-replayed')).toBe('true');
        expect(await again.json()).toMatchObject({ status: 'queued', id: sends[name] });
        const other = { ...body, message: 'Another text' };
        expect((await upgraded.call('POST', '/v1/messages/send', other, headers)).status).toBe(422);
      }
    });

    it('still returns 404 for a removed webhook', async () => {
      const path = `/v1/webhooks/${upgraded.snapshot.names.webhooks['removed'] ?? ''}`;
      expect((await upgraded.call('GET', path)).status).toBe(404);
    });
  });

  it('rotate-secrets decrypts every secret that an old build stored', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tidings-upgrade-'));
    const snapshot = await readSnapshot(name);
    await restoreFiles(snapshot, directory);
    const redis = await startEmbeddedRedis({ dataDirectory: join(directory, 'redis') });
    try {
      const script = join(ROOT, 'dist/rotate-secrets.js');
      const { code, stdout } = await startCommand(process.execPath, [script], {
        ...upgraded.environment(),
        REDIS_URL: redis.url,
        ENCRYPTION_KEY: randomBytes(32).toString('base64'),
        ENCRYPTION_KEYS_PREVIOUS: snapshot.keys.encryption,
      }).ended;
      // A secret that was rotated away is dropped once its overlap is over, so their number depends on the day.
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(
          /^(.+: [1-9]\d* rotated, 0 already encrypted with the current key, 0 could not be decrypted\n){3}$/,
        ),
      ]);
    } finally {
      await redis.stop();
      await rm(directory, { recursive: true, force: true });
    }
  });
}
