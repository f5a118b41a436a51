import type { StoredEndpoint } from './stored-endpoint.js';

/** So many endpoints one account may have: they are listed in one piece, and each event is held against all of them. */
export const MOST_ENDPOINTS_OF_ACCOUNT = 1_000;
/** And so many bytes of ids of contacts in all of them: every worker keeps them in memory. */
export const MOST_FILTER_BYTES_OF_ACCOUNT = 1024 * 1024;
/** In one of them: its record is read with each change of its deliveries. */
export const MOST_FILTER_BYTES = 64 * 1024;

/** Bytes of an endpoint's ids of contacts. */
export function filterBytes(contactIds: readonly string[] | null): number {
  return (contactIds ?? []).reduce((sum, id) => sum + Buffer.byteLength(id), 0);
}

/** Keeps the endpoints of all accounts. */
export interface EndpointStore {
  /** @throws {WebhookConflictError} for one endpoint too many, or filters that are too large together */
  add(account: string, endpoint: StoredEndpoint): Promise<void>;
  list(account: string): Promise<StoredEndpoint[]>;
  /** Is another one after each change of one of them. */
  revision(account: string): Promise<string>;
  find(account: string, id: string): Promise<StoredEndpoint | undefined>;
  /** Whether there was such an endpoint. What is pending at it ends later, at the latest with the next reconciliation. */
  remove(account: string, id: string): Promise<boolean>;
  /**
   * Replaces an endpoint by what `change` makes of it, and returns that; undefined where there is no such endpoint.
   * Nobody else's change is ever lost: where the endpoint changed meanwhile, `change` is asked again.
   * @throws {WebhookConflictError} for filters that are too large together
   */
  change(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
  ): Promise<StoredEndpoint | undefined>;
  /**
   * The same for what is kept otherwise and means the same: it is no change of the endpoint, and counts as none.
   */
  rewrite(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
  ): Promise<StoredEndpoint | undefined>;
  /**
   * Disables an endpoint and records `webhook.disabled` in the same step; false if it was not enabled any more, or does
   * not have this address any more: what the old one answered says nothing of the new one.
   */
  disable(account: string, id: string, reason: string, url?: string): Promise<boolean>;
}
