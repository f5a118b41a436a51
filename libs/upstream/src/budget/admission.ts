import { TOKEN_TTL_MS } from './request-budget.js';

/**
 * Waits until one request may be written. Call it right before the request is written, and again when a new
 * connection is ready: it replaces a token that has expired. If it rejects, write nothing.
 */
export type Admission = () => Promise<void>;

/**
 * Maximum number of tokens that one request replaces because they have expired. If Redis is always this slow,
 * the request leaves with an expired token; otherwise no request would ever leave.
 */
const MAX_RENEWALS = 10;

/**
 * Creates the check that a request makes right before it is written: its token must still be valid.
 * @param requestedAt when the token was requested, by `performance.now()`
 * @param renew returns the token and takes another; resolves to the time at which that token was requested
 */
export function createAdmission(requestedAt: number, renew: () => Promise<number>): Admission {
  let latest = requestedAt;
  return async () => {
    for (let i = 0; i < MAX_RENEWALS && performance.now() - latest > TOKEN_TTL_MS; i += 1)
      latest = await renew();
  };
}
