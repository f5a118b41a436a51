import { accountKeys, type Clock, LuaScript, type RedisClient } from '#platform';
import {
  AUDIT_RETENTION_MS,
  type AuditCategory,
  type AuditEntry,
  type AuditLog,
  type AuditPage,
  MAX_AUDIT_ENTRIES,
} from '../audit/audit-log.js';

const appendEntryScript = LuaScript.from(import.meta.url, 'lua/append-audit-entry.lua');

/** Limits for the stored entries of the audit log. */
export interface AuditBounds {
  /** Maximum number of entries of an account for each {@link AuditCategory}. */
  maxEntries: number;
  retentionMs: number;
}

const BOUNDS: AuditBounds = { maxEntries: MAX_AUDIT_ENTRIES, retentionMs: AUDIT_RETENTION_MS };

/** An entry of the audit log, with its id in the Redis stream: `<milliseconds>-<count>`. */
interface PlacedEntry {
  position: string;
  entry: AuditEntry;
}

/**
 * Stores the audit log of each account in one Redis stream for each {@link AuditCategory}. No id occurs in two
 * streams, so the ids also define the order of entries from different streams. The keys of the streams have the hash
 * tag of the account, so the erasure of the account removes them. Earlier builds store the entries of the category
 * `webhook` in the stream of the category `admin`.
 */
export class RedisAuditLog implements AuditLog {
  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly clock: Clock,
    private readonly bounds = BOUNDS,
  ) {}

  async append(account: string, entry: AuditEntry, category: AuditCategory): Promise<void> {
    const streams = this.keysOf(account);
    const entries = streams[category];
    const others = Object.values(streams).filter((key) => key !== entries);
    await appendEntryScript.run(
      this.redis,
      { entries, others },
      {
        entry: JSON.stringify(entry),
        maxEntries: this.bounds.maxEntries,
        retention: this.bounds.retentionMs,
      },
    );
  }

  async read(account: string, limit: number, before?: string): Promise<AuditPage> {
    const streams = Object.values(this.keysOf(account));
    // Reads one entry more than the page shows, to find out whether another page follows.
    const read = await Promise.all(streams.map((key) => this.readStream(key, limit + 1, before)));
    const found = read.flat().sort(newestFirst);
    const page = found.slice(0, limit);
    return {
      entries: page.map(({ entry }) => entry),
      next: found.length > limit ? page.at(-1)?.position : undefined,
    };
  }

  private async readStream(key: string, count: number, before: string | undefined): Promise<PlacedEntry[]> {
    const newest = before === undefined ? '+' : `(${before}`;
    const oldest = Math.max(0, this.clock.now() - this.bounds.retentionMs);
    const found = await this.redis.xrevrange(key, newest, oldest, 'COUNT', count);
    return found.flatMap(([position, [, text]]) =>
      text === undefined ? [] : [{ position, entry: JSON.parse(text) as AuditEntry }],
    );
  }

  private keysOf(account: string): Record<AuditCategory, string> {
    const key = accountKeys(this.prefix, account);
    return { admin: key('audit'), webhook: key('audit', 'webhook'), frequent: key('audit', 'frequent') };
  }
}

function newestFirst(one: PlacedEntry, other: PlacedEntry): number {
  const [ms = 0, count = 0] = one.position.split('-').map(Number);
  const [otherMs = 0, otherCount = 0] = other.position.split('-').map(Number);
  return otherMs - ms || otherCount - count;
}
