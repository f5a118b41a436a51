import { LuaScript, type RedisClient, readRedisTime } from '#platform';
import { AccountConflictError } from '../account/account-conflict-error.js';
import {
  type AccountStore,
  MAX_ACCOUNTS,
  type RemovedAccount,
  type StoredAccount,
} from '../account/account-store.js';
import { crossAccountRedisKeys, type CrossAccountKeys } from './redis-account-keys.js';
import { removeTokensAndSessionsOfApiKey } from './redis-tokens-and-sessions.js';

const addAccountScript = LuaScript.from(import.meta.url, 'lua/add-account.lua');

const replaceAccountScript = LuaScript.from(import.meta.url, 'lua/replace-account.lua');

const removeAccountScript = LuaScript.from(import.meta.url, 'lua/remove-account.lua');

const accountRevisionScript = LuaScript.from(import.meta.url, 'lua/account-revision.lua');

const deleteRemovalRecordScript = LuaScript.from(import.meta.url, 'lua/delete-removal-record.lua');

/**
 * Returns the record of an account's removal, exactly as `remove-account.lua` writes it.
 * @param removedAt time of the removal, in milliseconds since 1970
 */
function removalRecord(removedAt: number): string {
  return JSON.stringify({ removedAt });
}

const REFUSALS: Readonly<Record<string, string>> = {
  taken: 'An account with this id already exists. Update that account, or use another id.',
  removing:
    'An account with this id was deleted, and its data is still being removed. Retry in a few minutes.',
  full: `The installation has reached its limit of ${MAX_ACCOUNTS} accounts. Delete one first.`,
};

/** Stores accounts in one Redis hash; implements {@link AccountStore}. */
export class RedisAccountStore implements AccountStore {
  private readonly keys: CrossAccountKeys;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
  ) {
    this.keys = crossAccountRedisKeys(prefix);
  }

  async list(): Promise<StoredAccount[]> {
    return (await this.redis.hvals(this.keys.accounts)).map(readAccount);
  }

  async revision(): Promise<string> {
    const { accounts, version } = this.keys;
    return String(await accountRevisionScript.run(this.redis, { accounts, version }));
  }

  async find(id: string): Promise<StoredAccount | undefined> {
    const stored = await this.redis.hget(this.keys.accounts, id);
    return stored === null ? undefined : readAccount(stored);
  }

  async add(account: StoredAccount): Promise<void> {
    const { accounts, removed, version } = this.keys;
    const outcome = await addAccountScript.run(
      this.redis,
      { accounts, removed, version },
      { id: account.id, account: JSON.stringify(account), maxAccounts: MAX_ACCOUNTS },
    );
    if (outcome !== 'added') throw new AccountConflictError(REFUSALS[String(outcome)] ?? String(outcome));
  }

  async change(
    id: string,
    change: (before: StoredAccount) => StoredAccount,
  ): Promise<StoredAccount | undefined> {
    const { accounts, version } = this.keys;
    // The loop repeats only if another process changed the account between the read and the write.
    for (;;) {
      const expected = await this.redis.hget(accounts, id);
      if (expected === null) return undefined;
      const after = change(readAccount(expected));
      const args = { id, expected, replacement: JSON.stringify(after) };
      if ((await replaceAccountScript.run(this.redis, { accounts, version }, args)) === 1) return after;
    }
  }

  async remove(id: string): Promise<boolean> {
    const { accounts, removed, apiKeys, apiKeysOf, apiKeyUses, version, revocations } = this.keys;
    const ownApiKeys = apiKeysOf(id);
    const keyIds = await this.redis.smembers(ownApiKeys);
    const keys = { accounts, removed, apiKeys, ownApiKeys, uses: apiKeyUses, version, revocations };
    if ((await removeAccountScript.run(this.redis, keys, { id })) !== 1) return false;
    for (const keyId of keyIds) await removeTokensAndSessionsOfApiKey(this.redis, this.keys, keyId);
    return true;
  }

  async listRemoved(): Promise<RemovedAccount[]> {
    return Object.entries(await this.redis.hgetall(this.keys.removed)).map(([id, note]) => ({
      id,
      removedAt: (JSON.parse(note) as { removedAt: number }).removedAt,
    }));
  }

  async deleteRemovalRecord({ id, removedAt }: RemovedAccount): Promise<void> {
    await deleteRemovalRecordScript.run(
      this.redis,
      { removed: this.keys.removed },
      { id, note: removalRecord(removedAt) },
    );
  }

  /** Returns the current time by Redis' clock, in milliseconds since 1970. */
  now(): Promise<number> {
    return readRedisTime(this.redis, this.keys.removed);
  }
}

function readAccount(text: string): StoredAccount {
  return JSON.parse(text) as StoredAccount;
}
