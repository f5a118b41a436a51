import type { UpstreamAddress } from '../upstream.js';

/** Address, API key and request budget of an account's upstream. */
export interface UpstreamAccount extends UpstreamAddress {
  requestsPerSecond: number;
}

/**
 * Returns the address, API key and request budget of an account's upstream.
 * @throws if the account is not found
 */
export type FindUpstreamAccount = (account: string) => Promise<UpstreamAccount>;
