import { describe, expect, it } from '@jest/globals';
import { FixedAccountDirectory } from './account.js';
import { accountEncryptionContext, type StoredAccount } from './account-store.js';
import { CombinedAccountDirectory } from './combined-account-directory.js';
import { SecretDecryptionError, SecretCipher } from '../secret/secret-cipher.js';

const CIPHER = new SecretCipher(Buffer.alloc(32, 1));
const FIXED = { id: 'default', baseUrl: 'http://u/v1', apiKey: 'k', requestsPerSecond: 1, polling: true };

function stored(
  id: string,
  sealedApiKey = CIPHER.encrypt(`key-of-${id}`, accountEncryptionContext(id)),
): StoredAccount {
  const at = '2026-11-21T00:00:00.000Z';
  const rest = { requestsPerSecond: 2, polling: false, createdAt: at, updatedAt: at };
  return { id, baseUrl: `http://${id}/v1`, sealedApiKey, ...rest };
}

function directory(kept: StoredAccount[]): { accounts: CombinedAccountDirectory; reported: string[] } {
  const reported: string[] = [];
  const store = {
    list: () => Promise.resolve(kept),
    revision: () => Promise.resolve(''),
    find: (id: string) => Promise.resolve(kept.find((one) => one.id === id)),
  };
  const accounts = new CombinedAccountDirectory(new FixedAccountDirectory([FIXED]), store, CIPHER, (id) =>
    reported.push(id),
  );
  return { accounts, reported };
}

describe('the account directory', () => {
  it('lists the account from the environment variables, and each stored account with its decrypted upstream API key', async () => {
    const { accounts } = directory([stored('a'), stored('b')]);
    const a = {
      ...{ id: 'a', baseUrl: 'http://a/v1', apiKey: 'key-of-a', requestsPerSecond: 2, polling: false },
      addedAt: Date.parse('2026-11-21T00:00:00.000Z'),
    };
    expect((await accounts.list()).map(({ id }) => id)).toEqual(['default', 'a', 'b']);
    expect(await accounts.find('a')).toEqual(a);
    expect(await accounts.find('default')).toEqual(FIXED);
    expect(await accounts.find('constructor')).toBeUndefined();
  });

  it('reads the stored accounts at each call, and no longer finds an account after its removal', async () => {
    const kept = [stored('a')];
    const { accounts } = directory(kept);
    expect(await accounts.find('a')).toBeDefined();
    kept.pop();
    expect(await accounts.find('a')).toBeUndefined();
    expect((await accounts.list()).map(({ id }) => id)).toEqual(['default']);
  });

  it('reports an account whose upstream API key cannot be decrypted, and lists all other accounts', async () => {
    // An encrypted key that is copied from another account cannot be decrypted, like a damaged one.
    const stolen = stored('thief', stored('a').sealedApiKey);
    const { accounts, reported } = directory([stolen, stored('a'), stored('odd', 'nonsense')]);
    expect((await accounts.list()).map(({ id }) => id)).toEqual(['default', 'a']);
    expect(reported).toEqual(['thief', 'odd']);
    await expect(accounts.find('thief')).rejects.toBeInstanceOf(SecretDecryptionError);
  });

  it('reports an account whose upstream API key cannot be decrypted once, and again if the key could be decrypted in between', async () => {
    const kept = [stored('a', 'nonsense')];
    const { accounts, reported } = directory(kept);
    await accounts.list();
    await accounts.list();
    expect(reported).toEqual(['a']);
    kept[0] = stored('a');
    await accounts.list();
    kept[0] = stored('a', 'nonsense');
    await accounts.list();
    expect(reported).toEqual(['a', 'a']);
  });
});
