/** An action of an API key or a token, as the audit log of an account has it. */
export interface AuditEntry {
  /** Id of the entry, in the form `aud_…`. An entry in the logs of two accounts has the same id in both. */
  id: string;
  /** When the action was done, as an ISO 8601 time. */
  at: string;
  /** For example `api-key.created`. */
  action: string;
  /** Id of the object, or null for an action on several objects. */
  subject: string | null;
  /** Ids of the objects. Absent for an action on one object. */
  subjects?: string[];
  /** Account of the caller who did the action. */
  account: string;
  /** Id of the caller's API key; for a token, of the API key that created the token. */
  keyId: string;
  /** Id of the caller's token. Absent for a caller with an API key. */
  tokenId?: string;
  requestId: string;
  /** Names of the fields of the request, without their values. */
  fields: string[];
}

/** A page of entries, newest first. `next` is the position of the next page, or undefined on the last page. */
export interface AuditPage {
  entries: AuditEntry[];
  next: string | undefined;
}

/** How often an action is usually done. `frequent`: by programs in the course of their work. */
export type AuditFrequency = 'rare' | 'frequent';

/**
 * Stores who did what in each account. The log is bounded: of each frequency, the newest entries are kept, so that frequent
 * actions never displace the rare ones.
 */
export interface AuditLog {
  append(account: string, entry: AuditEntry, frequency: AuditFrequency): Promise<void>;
  /**
   * Reads at most `limit` entries of an account, newest first.
   * @param before the `next` of the previous page; see {@link isAuditPosition}
   */
  read(account: string, limit: number, before?: string): Promise<AuditPage>;
}

/** Maximum number of entries of each frequency that are kept for an account. */
export const MAX_AUDIT_ENTRIES = 1_000;
/** Time for which entries are kept, in milliseconds. */
export const AUDIT_RETENTION_MS = 90 * 86_400_000;

/** Redis knows no id below 0-0. */
const POSITION_PATTERN = /^(?!0+-0+$)\d{1,15}-\d{1,15}$/;

/** Returns true if a text has the format of a position that {@link AuditLog.read} accepts. */
export function isAuditPosition(text: string): boolean {
  return POSITION_PATTERN.test(text);
}
