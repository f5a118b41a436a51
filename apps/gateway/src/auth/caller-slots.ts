import type { Principal } from '#accounts';
import { Problem, retryAfter } from '../problems/problem.js';

/** Time after which a caller that got no slot should try again, in milliseconds. */
const RETRY_MS = 5_000;

/**
 * Limits of the simultaneous requests of one kind that a gateway serves: of their number, or of their total size.
 */
export interface CallerLimits {
  /** Maximum for all callers together. */
  max: number;
  /** Maximum for one account. */
  maxPerAccount: number;
  /**
   * Maximum for all tokens of one account together. The rest of `maxPerAccount` is for API keys and sessions of the
   * console.
   */
  maxPerAccountForTokens: number;
  /** Maximum for one token. */
  maxPerToken: number;
}

/** The limits of {@link CallerSlots}, each by what it applies to. */
type ReachedLimit = 'gateway' | 'account' | 'tokens' | 'token';

const DETAILS: Readonly<Record<ReachedLimit, (requests: string) => string>> = {
  gateway: (requests) => `The gateway has reached its limit of ${requests}.`,
  account: (requests) => `The account has reached its limit of ${requests}.`,
  tokens: (requests) => `The tokens of the account together have reached their limit of ${requests}.`,
  token: (requests) => `The token has reached its limit of ${requests}.`,
};

/** An acquired slot, or the limit that is reached. */
export type CallerSlot =
  { acquired: true; release: () => void } | { acquired: false; reachedLimit: ReachedLimit };

/**
 * Limits the number of simultaneous requests of one kind, such as event streams or uploads. A token has a limit of its own,
 * and so have the tokens of an account together, because a token may be in the hands of anyone who opens a page: tokens
 * must not take the slots of the account's services.
 */
export class CallerSlots {
  private taken = 0;
  private readonly byAccount = new Counts();
  private readonly ofTokensByAccount = new Counts();
  private readonly byToken = new Counts();

  constructor(private readonly limits: CallerLimits) {}

  /**
   * Acquires a slot. The caller must release an acquired slot.
   * @param size what the request counts towards each limit: 1, or its size if the limits are sizes
   */
  acquire({ account, tokenId }: Pick<Principal, 'account' | 'tokenId'>, size = 1): CallerSlot {
    const { max, maxPerAccount, maxPerAccountForTokens, maxPerToken } = this.limits;
    if (tokenId !== undefined) {
      if (this.byToken.of(tokenId) + size > maxPerToken) return { acquired: false, reachedLimit: 'token' };
      if (this.ofTokensByAccount.of(account) + size > maxPerAccountForTokens)
        return { acquired: false, reachedLimit: 'tokens' };
    }
    if (this.byAccount.of(account) + size > maxPerAccount)
      return { acquired: false, reachedLimit: 'account' };
    if (this.taken + size > max) return { acquired: false, reachedLimit: 'gateway' };
    this.count(account, tokenId, size);
    return {
      acquired: true,
      release: () => {
        this.count(account, tokenId, -size);
      },
    };
  }

  private count(account: string, tokenId: string | undefined, change: number): void {
    this.taken += change;
    this.byAccount.add(account, change);
    if (tokenId === undefined) return;
    this.ofTokensByAccount.add(account, change);
    this.byToken.add(tokenId, change);
  }
}

/**
 * Returns the error for a request that got no slot.
 * @param requests what the slots are for, such as `simultaneous uploads`
 */
export function noSlotProblem(reachedLimit: ReachedLimit, requests: string): Problem {
  const code = reachedLimit === 'gateway' ? 'unavailable' : 'rate_limited';
  return new Problem(code, DETAILS[reachedLimit](requests), { headers: retryAfter(RETRY_MS) });
}

/** Counts by name. A name whose count is 0 is not stored. */
class Counts {
  private readonly counts = new Map<string, number>();

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  add(name: string, change: number): void {
    const count = this.of(name) + change;
    if (count === 0) this.counts.delete(name);
    else this.counts.set(name, count);
  }
}
