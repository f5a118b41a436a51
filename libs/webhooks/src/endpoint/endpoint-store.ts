import type { StoredEndpoint } from './stored-endpoint.js';

/** Max endpoints of one account, since they are listed without pages and each event is compared with all filters. */
export const MAX_ENDPOINTS_PER_ACCOUNT = 1_000;
/** Max total size of one account's contact filters, in bytes, since every worker keeps them in memory. */
export const MAX_FILTER_BYTES_PER_ACCOUNT = 1024 * 1024;
/** Max size of one endpoint's contact filter, in bytes. */
export const MAX_FILTER_BYTES = 64 * 1024;

/** Returns the size of an endpoint's contact filter, in bytes. */
export function filterBytes(contactIds: readonly string[] | null): number {
  return (contactIds ?? []).reduce((sum, id) => sum + Buffer.byteLength(id), 0);
}

/** Stores the endpoints of all accounts. */
export interface EndpointStore {
  /**
   * Stores a new endpoint.
   * @throws {WebhookConflictError} if the account has too many endpoints, or its filters are too large in all
   */
  add(account: string, endpoint: StoredEndpoint): Promise<void>;
  /** Returns all endpoints of an account. */
  list(account: string): Promise<StoredEndpoint[]>;
  /** Returns a text that differs after each change of the account's endpoints. */
  revision(account: string): Promise<string>;
  /** Returns an endpoint, or undefined if the endpoint does not exist. */
  find(account: string, id: string): Promise<StoredEndpoint | undefined>;
  /** Removes an endpoint. Returns false if the endpoint did not exist. A reconciliation ends its pending deliveries. */
  remove(account: string, id: string): Promise<boolean>;
  /**
   * Replaces an endpoint by the result of `change`. Returns the new endpoint, or undefined if the endpoint does not
   * exist. Calls `change` again if the endpoint was changed concurrently, so no change is lost.
   * @throws {WebhookConflictError} if the account's filters are too large in all
   */
  change(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
  ): Promise<StoredEndpoint | undefined>;
  /**
   * Replaces an endpoint like `change`, for a new encoding of the same content. The endpoint's revision stays the same.
   */
  rewrite(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
  ): Promise<StoredEndpoint | undefined>;
  /**
   * Disables an endpoint and records `webhook.disabled` atomically. Returns false if the endpoint is not enabled.
   * @param url URL that caused the disabling; returns false if the endpoint's URL has changed since
   */
  disable(account: string, id: string, reason: string, url?: string): Promise<boolean>;
}
