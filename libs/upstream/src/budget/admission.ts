import { TOKEN_LIFE_MS } from './request-budget.js';

/**
 * The right to make one request. Awaited right before the request is written, and again once a new connection stands:
 * it takes another token for one that grew too old meanwhile. Where it rejects, nothing may be written.
 */
export type Admission = () => Promise<void>;

/**
 * So many tokens in a row that were too old when they came say that Redis is always so slow. That is no difference between
 * requests, so the request leaves all the same; otherwise none ever would.
 */
const MAX_RENEWALS = 10;

/**
 * @param askedAt when its token was asked for, by `performance.now()`
 * @param renew gives the token back and takes another one; answers when that was asked for
 */
export function admission(askedAt: number, renew: () => Promise<number>): Admission {
  let latest = askedAt;
  return async () => {
    for (let i = 0; i < MAX_RENEWALS && performance.now() - latest > TOKEN_LIFE_MS; i += 1)
      latest = await renew();
  };
}
