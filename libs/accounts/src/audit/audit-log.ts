/** An entry of the audit log: one action of a caller through the API. */
export interface AuditEntry {
  /**
   * Id of the entry, in the form `aud_…`. If an action is recorded in the audit logs of two accounts, both entries
   * have the same id.
   */
  id: string;
  /** When the action was done, as an ISO 8601 time. */
  at: string;
  /** Name of the action, for example `api-key.created`. */
  action: string;
  /** Id of the object of the action, for example of an API key. Null for an action on several objects. */
  subject: string | null;
  /** Ids of the objects of an action on several objects. Absent for an action on one object: see {@link subject}. */
  subjects?: string[];
  /** Account of the caller who did the action. */
  account: string;
  /**
   * Id of the caller's API key. For a caller with a token or a session of the web console, id of the API key that the
   * token or session belongs to.
   */
  keyId: string;
  /** Id of the caller's token. Absent for a caller with an API key or a session of the web console. */
  tokenId?: string;
  requestId: string;
  /**
   * Names of the fields in the body of the request. Their values are not recorded. Empty for an action whose request
   * body is not validated.
   */
  fields: string[];
}

/**
 * A page of audit log entries, newest first. `next` is the position of the next page, or undefined on the last page.
 */
export interface AuditPage {
  entries: AuditEntry[];
  next: string | undefined;
}

/**
 * Kinds of actions. `admin`: only admins are allowed to do them. `webhook`: they concern webhooks. `frequent`:
 * programs and people do them as part of their normal work, for example create tokens or sign in.
 */
export type AuditCategory = 'admin' | 'webhook' | 'frequent';

/**
 * Stores who did what in each account. The number of entries is limited separately for each category, so that a
 * caller who is not an admin cannot displace the entries of the category `admin`. The newest entries are kept.
 */
export interface AuditLog {
  append(account: string, entry: AuditEntry, category: AuditCategory): Promise<void>;
  /**
   * Reads at most `limit` entries of an account, newest first.
   * @param before `next` of the previous page; absent for the first page
   */
  read(account: string, limit: number, before?: string): Promise<AuditPage>;
}

/** Maximum number of audit log entries of an account for each {@link AuditCategory}. */
export const MAX_AUDIT_ENTRIES = 1_000;
/** Time for which entries of the audit log are kept, in milliseconds. */
export const AUDIT_RETENTION_MS = 90 * 86_400_000;

/**
 * Pattern of the id of an entry in a Redis stream. The pattern excludes `0-0`, because Redis rejects a read of the
 * entries before `0-0`.
 */
const POSITION_PATTERN = /^(?!0+-0+$)\d{1,15}-\d{1,15}$/;

/** Returns true if a text has the format of a position that {@link AuditLog.read} accepts. */
export function isAuditLogPosition(text: string): boolean {
  return POSITION_PATTERN.test(text);
}
