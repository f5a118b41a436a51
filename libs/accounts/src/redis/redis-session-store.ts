import { LuaScript, type RedisClient } from '#platform';
import type { StoredApiKey } from '../api-key/stored-api-key.js';
import {
  type FoundSession,
  MAX_SESSIONS_PER_API_KEY,
  type SessionEnds,
  type SessionLimits,
  type SessionStore,
  type SessionTerms,
  type StoredSession,
} from '../session/session.js';
import { crossAccountRedisKeys, type CrossAccountKeys } from './redis-account-keys.js';

const addSessionScript = LuaScript.from(import.meta.url, 'lua/add-session.lua');

const findSessionScript = LuaScript.from(import.meta.url, 'lua/find-session.lua');

const removeSessionScript = LuaScript.from(import.meta.url, 'lua/remove-session.lua');

/**
 * Implements {@link SessionStore}. Stores each session in a Redis hash that expires when the session ends, and the
 * ids of each API key's sessions in a sorted set. Sessions and API keys are in the same hash slot, so that one script
 * reads a session together with its API key.
 */
export class RedisSessionStore implements SessionStore {
  private readonly keys: CrossAccountKeys;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    private readonly maxSessions = MAX_SESSIONS_PER_API_KEY,
  ) {
    this.keys = crossAccountRedisKeys(prefix);
  }

  async add(
    session: StoredSession,
    { limits: { idleMs, lifetimeMs }, latestEnd, replaced }: SessionTerms,
  ): Promise<SessionEnds> {
    const { id, keyId } = session;
    const { revocations } = this.keys;
    return (await addSessionScript.run(
      this.redis,
      { session: this.keys.session(id), ownSessions: this.keys.sessionsOf(keyId), revocations },
      {
        ...{ id, record: JSON.stringify(session), keyId, sessionPrefix: this.keys.session('') },
        ...{ idleMs, lifetimeMs, latestEnd: latestEnd ?? '', maxSessions: this.maxSessions, replaced },
      },
    )) as SessionEnds;
  }

  async find(id: string, use?: SessionLimits): Promise<FoundSession | undefined> {
    const found = (await findSessionScript.run(
      this.redis,
      { session: this.keys.session(id), apiKeys: this.keys.apiKeys },
      {
        ...{ id, ownPrefix: this.keys.sessionsOf('') },
        ...{ idleMs: use?.idleMs ?? '', renewMs: use?.renewMs ?? '' },
      },
    )) as (SessionEnds & { record: string; apiKey: string; now: number }) | null;
    if (found === null) return undefined;
    const { record, apiKey, ...times } = found;
    return {
      ...times,
      session: JSON.parse(record) as StoredSession,
      apiKey: apiKey === '' ? undefined : (JSON.parse(apiKey) as StoredApiKey),
    };
  }

  async remove(id: string): Promise<boolean> {
    const keys = { session: this.keys.session(id), revocations: this.keys.revocations };
    const args = { id, ownPrefix: this.keys.sessionsOf('') };
    return (await removeSessionScript.run(this.redis, keys, args)) === 1;
  }
}
