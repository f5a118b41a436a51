import {
  type FoundSession,
  MAX_SESSIONS_PER_API_KEY,
  type SessionEnds,
  type SessionLimits,
  type SessionStore,
  type SessionTerms,
  type StoredApiKey,
  type StoredSession,
} from '#accounts';
import { type Clock, clockOfThisMachine } from '#platform';

/** Finds an API key. The fake needs no other method of the store of API keys. */
interface ApiKeyReader {
  find(id: string): Promise<StoredApiKey | undefined>;
}

/** A session, and the time of its last use plus the idle time, in milliseconds since 1970. */
type SessionInMemory = SessionEnds & { session: StoredSession; usedUntil: number };

/** A {@link SessionStore} in memory for tests. `revoked` lists the sessions that ended before their time, in order. */
export class MemorySessionStore implements SessionStore {
  readonly revoked: string[] = [];
  /** Number of renewals of an idle time. */
  renewals = 0;
  private readonly sessions = new Map<string, SessionInMemory>();

  constructor(
    private readonly apiKeys: ApiKeyReader,
    private readonly maxSessions = MAX_SESSIONS_PER_API_KEY,
    private readonly clock: Clock = clockOfThisMachine,
  ) {}

  async add(
    session: StoredSession,
    { limits: { idleMs, lifetimeMs }, latestEnd = Infinity, replaced }: SessionTerms,
  ): Promise<SessionEnds> {
    const now = this.clock.now();
    const endsAt = Math.min(now + lifetimeMs, latestEnd);
    const usedUntil = now + idleMs;
    const idleEndsAt = Math.min(usedUntil, endsAt);
    for (const id of replaced) await this.remove(id);
    const own = [...this.sessions.values()]
      .filter((other) => other.session.keyId === session.keyId && other.idleEndsAt > now)
      .sort((a, b) => a.usedUntil - b.usedUntil);
    const surplus = Math.max(0, own.length + 1 - this.maxSessions);
    for (const old of own.slice(0, surplus)) await this.remove(old.session.id);
    this.sessions.set(session.id, { session, endsAt, idleEndsAt, usedUntil });
    return { endsAt, idleEndsAt };
  }

  async find(id: string, use?: SessionLimits): Promise<FoundSession | undefined> {
    const now = this.clock.now();
    const found = this.live(id);
    if (found === undefined) return undefined;
    if (use !== undefined && now + use.idleMs - found.usedUntil >= use.renewMs) {
      found.usedUntil = now + use.idleMs;
      found.idleEndsAt = Math.min(found.usedUntil, found.endsAt);
      this.renewals += 1;
    }
    const { session, endsAt, idleEndsAt } = found;
    return { session, endsAt, idleEndsAt, apiKey: await this.apiKeys.find(session.keyId), now };
  }

  remove(id: string): Promise<boolean> {
    const existed = this.live(id) !== undefined;
    this.sessions.delete(id);
    if (existed) this.revoked.push(id);
    return Promise.resolve(existed);
  }

  private live(id: string): SessionInMemory | undefined {
    const found = this.sessions.get(id);
    return found === undefined || found.idleEndsAt <= this.clock.now() ? undefined : found;
  }
}
