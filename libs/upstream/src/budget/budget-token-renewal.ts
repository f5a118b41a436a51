import { BUDGET_TOKEN_TTL_MS } from './request-budget.js';

/**
 * Replaces a request's token of the upstream budget if the token has expired. Must be awaited right before the
 * request is written. If the returned promise rejects, the request must not be written.
 */
export interface BudgetTokenRenewal {
  (): Promise<void>;
  /** Returns true if the token has expired. Absent if the token never expires. */
  isExpired?(): boolean;
}

/**
 * Maximum number of expired tokens that one renewal replaces. After that, the request is sent even with an expired
 * token. Otherwise, if Redis were so slow that every new token expired, the request would never be sent.
 */
const MAX_RENEWALS = 10;

/**
 * Creates the function that replaces the budget token of one request if the token has expired.
 * @param requestedAt when the token was requested, by `performance.now()`
 * @param renew returns the expired token to the budget and takes a new one; resolves to the time at which the new
 * token was requested, by `performance.now()`
 */
export function createBudgetTokenRenewal(
  requestedAt: number,
  renew: () => Promise<number>,
): BudgetTokenRenewal {
  let latest = requestedAt;
  const isExpired = (): boolean => performance.now() - latest > BUDGET_TOKEN_TTL_MS;
  const renewal = async (): Promise<void> => {
    for (let i = 0; i < MAX_RENEWALS && isExpired(); i += 1) latest = await renew();
  };
  return Object.assign(renewal, { isExpired });
}
