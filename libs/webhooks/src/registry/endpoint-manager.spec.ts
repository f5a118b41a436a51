import { expect, it } from '@jest/globals';
import { SecretCipher } from '#accounts';
import { clockOfThisMachine, createLogger } from '#platform';
import { encryptHeaders, type StoredEndpoint } from '../endpoint/stored-endpoint.js';
import { EndpointManager } from './endpoint-manager.js';

const ID = 'whk_1';
const CIPHER = new SecretCipher(Buffer.alloc(32, 1));
const OTHER_CIPHER = new SecretCipher(Buffer.alloc(32, 2));
const AT = '2026-11-21T00:00:00.000Z';

const stored = (cipher: SecretCipher): StoredEndpoint => ({
  ...{ id: ID, url: 'https://receiver.example/', eventTypes: null, contactIds: null, description: null },
  ...{ maxConcurrency: null, rateLimitPerSecond: null, ordered: false, enabled: true, disabledReason: null },
  ...{ createdAt: AT, updatedAt: AT, secrets: [], revision: 1 },
  sealedHeaders: encryptHeaders({ a: 'b' }, ID, cipher),
});

it('a webhook whose headers cannot be decrypted is logged once, and logged again if the headers could be decrypted in between', async () => {
  let kept = stored(OTHER_CIPHER);
  let lines = 0;
  const manager = new EndpointManager(
    { list: () => Promise.resolve([kept]) } as never,
    undefined as never,
    undefined as never,
    CIPHER,
    clockOfThisMachine,
    undefined as never,
    createLogger('test', 'error', { write: () => (lines += 1) }),
  );
  expect((await manager.list('a')).map(({ headers }) => headers)).toEqual([{}]);
  await manager.list('a');
  expect(lines).toBe(1);
  kept = stored(CIPHER);
  expect((await manager.list('a')).map(({ headers }) => headers)).toEqual([{ a: 'b' }]);
  kept = stored(OTHER_CIPHER);
  await manager.list('a');
  expect(lines).toBe(2);
});
