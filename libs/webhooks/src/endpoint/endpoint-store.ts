import type { StoredEndpoint } from './stored-endpoint.js';

/**
 * Max number of endpoints of one account. All are listed on one page, and every worker keeps their filters in memory.
 */
export const MAX_ENDPOINTS_PER_ACCOUNT = 1_000;
/** Max total size of one account's contact filters (`contactIds`), in bytes. Every worker keeps them in memory. */
export const MAX_CONTACT_FILTER_BYTES_PER_ACCOUNT = 1024 * 1024;
/** Max size of one endpoint's contact filter (`contactIds`), in bytes. */
export const MAX_CONTACT_FILTER_BYTES_PER_ENDPOINT = 64 * 1024;

/** Returns the size of an endpoint's contact filter (`contactIds`), in bytes. */
export function contactFilterSizeInBytes(contactIds: readonly string[] | null): number {
  return (contactIds ?? []).reduce((sum, id) => sum + Buffer.byteLength(id), 0);
}

/** Conditions under which {@link EndpointStore.disable} disables an endpoint. An absent condition is met. */
export interface DisableCondition {
  /** The endpoint must still have this URL, to which the failed attempts were made. */
  url?: string;
  /** The endpoint must still have this revision, at which the failed attempt was made. */
  revision?: number;
  /** All attempts to the endpoint must have failed for this time, in milliseconds. */
  failingMs?: number;
}

/** Stores the endpoints of all accounts. */
export interface EndpointStore {
  /**
   * Stores a new endpoint.
   * @throws {WebhookStateConflictError} if the account has too many endpoints, or if the total size of the account's
   * contact filters would be too large
   */
  add(account: string, endpoint: StoredEndpoint): Promise<void>;
  /** Returns all endpoints of an account. */
  list(account: string): Promise<StoredEndpoint[]>;
  /**
   * Returns a text that changes with each change of the account's endpoints, except with
   * {@link EndpointStore.rewrite} and with some changes by an earlier build.
   */
  revision(account: string): Promise<string>;
  /** Returns an endpoint, or undefined if the endpoint does not exist. */
  find(account: string, id: string): Promise<StoredEndpoint | undefined>;
  /**
   * Removes an endpoint. Returns false if the endpoint did not exist. A periodic task later ends the
   * endpoint's pending deliveries.
   */
  remove(account: string, id: string): Promise<boolean>;
  /**
   * Replaces an endpoint with the result of `change`. Returns the new endpoint, or undefined if the endpoint does not
   * exist. Calls `change` again if another process changed the endpoint meanwhile, so that no change is lost.
   * @param endsPause true to also end a pause, so that deliveries can be attempted at once. Default false
   * @throws {WebhookStateConflictError} if the total size of the account's contact filters would be too large
   */
  change(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
    endsPause?: boolean,
  ): Promise<StoredEndpoint | undefined>;
  /**
   * Does the same as {@link EndpointStore.change}, but keeps the endpoint's revision. Used to store the same content in
   * another form, for example encrypted with another key.
   */
  rewrite(
    account: string,
    id: string,
    change: (before: StoredEndpoint) => StoredEndpoint,
  ): Promise<StoredEndpoint | undefined>;
  /**
   * Disables an endpoint and records the event `webhook.disabled`, in one atomic step. Returns false, and changes
   * nothing, if the endpoint was not enabled or does not meet the conditions in `only`.
   */
  disable(account: string, id: string, reason: string, only?: DisableCondition): Promise<boolean>;
}
