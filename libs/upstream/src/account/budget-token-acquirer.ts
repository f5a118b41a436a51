import { setMaxListeners } from 'node:events';
import { combineAbortSignals, pause } from '#platform';
import { type BudgetTokenRenewal, createBudgetTokenRenewal } from '../budget/budget-token-renewal.js';
import type { PollTokenSource } from '../budget/poll-token-source.js';
import {
  type AdaptiveBudget,
  BudgetExhaustedError,
  MAX_POLL_TOKEN_RETRY_PAUSE_MS,
} from '../budget/request-budget.js';
import { SerialQueues } from '../budget/serial-queues.js';
import { UpstreamUnavailableError } from '../upstream-error.js';
import type { RequestWatcher } from './request-watcher.js';
import type { FindUpstreamAccount, UpstreamAccount } from './upstream-account.js';
import type { UpstreamHealth } from './upstream-health.js';

/**
 * Request class of a request, and the maximum time that it waits for a token of the budget, in milliseconds, by what
 * the request is for:
 *
 * - `send`: a send.
 * - `read`: a read for an API caller.
 * - `lookup`: a read for the look-up of a send whose POST has an unknown outcome.
 * - `confirmation`: a read for the look-up of an accepted send.
 *
 * A look-up may need several requests in a row. If one of them gets no token in time, the look-up starts again from
 * the beginning. Requests of look-ups therefore wait longer, because a budget that was reduced after 429 answers may
 * provide a token only every few seconds. The wait is short enough not to delay the stop of a process.
 */
export const WAIT_BY_PURPOSE = {
  send: { kind: 'send', maxWaitMs: 2_000 },
  read: { kind: 'read', maxWaitMs: 5_000 },
  lookup: { kind: 'send', maxWaitMs: 8_000 },
  confirmation: { kind: 'read', maxWaitMs: 8_000 },
} as const;

/**
 * What a request is for: see {@link WAIT_BY_PURPOSE}. A {@link PollTokenSource} stands for a poll, which waits for a
 * token without a time limit.
 */
export type RequestPurpose = keyof typeof WAIT_BY_PURPOSE | PollTokenSource;

/**
 * Takes tokens of the budget for the requests of all accounts. During an outage of an account, it takes tokens only
 * for probes.
 */
export class BudgetTokenAcquirer {
  private readonly waits = new SerialQueues();
  private readonly stopping = new AbortController();

  constructor(
    private readonly find: FindUpstreamAccount,
    private readonly budget: AdaptiveBudget,
    private readonly health: UpstreamHealth,
    private readonly watcher: RequestWatcher,
  ) {
    // Each waiting poll listens to this signal. By default, Node.js prints a warning about more than ten listeners.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Makes every poll stop waiting for a token of the budget, because the process is stopping. */
  stopWaiting(): void {
    this.stopping.abort();
  }

  /**
   * Takes a token of the budget for one request. Resolves to a function that replaces the token if it has expired.
   * The caller must await this function right before it sends the request.
   * @throws {UpstreamUnavailableError} during an outage of the account
   * @throws {BudgetExhaustedError} if the budget has no token in time, or if the wait of a poll is aborted
   */
  async acquire(account: string, purpose: RequestPurpose): Promise<BudgetTokenRenewal> {
    return this.acquireTokenOf(account, await this.findOpen(account), purpose);
  }

  /**
   * Works like {@link acquire}, but for a token that was taken elsewhere: returns the function that replaces the
   * token if it has expired. Closes the account's circuit breaker, unless it opened after `requestedAt`.
   * @param requestedAt when the token was requested, by `performance.now()`; at that time, no outage of the account
   * was recorded in Redis
   */
  renewalOf(account: string, requestedAt: number, purpose: keyof typeof WAIT_BY_PURPOSE): BudgetTokenRenewal {
    this.watcher.closeCircuit(account, requestedAt);
    return createBudgetTokenRenewal(requestedAt, async () => {
      const { requestsPerSecond } = await this.find(account);
      const { kind, maxWaitMs } = WAIT_BY_PURPOSE[purpose];
      return this.budget.acquire(account, requestsPerSecond, kind, maxWaitMs, 1);
    });
  }

  /**
   * Takes a token of the budget for one request, or uses the unused token of a poll. Resolves to the address to which
   * the request must go, with the function that replaces the token if it has expired.
   * @throws {UpstreamUnavailableError} during an outage of the account
   * @throws {BudgetExhaustedError} if the budget has no token in time, or if the wait of a poll is aborted
   */
  async accountWithToken(account: string, purpose: RequestPurpose): Promise<UpstreamAccount> {
    const hasToken = typeof purpose === 'object' && purpose.tokenRequestedAt !== undefined;
    const isKnownToBeAvailable = hasToken && purpose.isUpstreamAvailable === true;
    const found = isKnownToBeAvailable ? await this.find(account) : await this.findOpen(account);
    const tokenRenewal = await this.acquireTokenOf(account, found, purpose);
    // After the wait for a token, reads the account again, because the account may have changed meanwhile.
    return { ...(hasToken ? found : await this.find(account)), tokenRenewal };
  }

  /**
   * Takes a token of the budget for one request without checking whether the account has an outage. A probe, which is
   * sent during an outage, calls this method directly.
   * @throws {BudgetExhaustedError} if the budget has no token in time
   */
  async acquireWithoutOutageCheck(
    account: string,
    requestsPerSecond: number,
    purpose: keyof typeof WAIT_BY_PURPOSE,
  ): Promise<BudgetTokenRenewal> {
    const { kind, maxWaitMs } = WAIT_BY_PURPOSE[purpose];
    const acquire = (unused: number): Promise<number> =>
      this.budget.acquire(account, requestsPerSecond, kind, maxWaitMs, unused);
    return createBudgetTokenRenewal(await acquire(0), () => acquire(1));
  }

  private async acquireTokenOf(
    account: string,
    { requestsPerSecond }: UpstreamAccount,
    purpose: RequestPurpose,
  ): Promise<BudgetTokenRenewal> {
    this.watcher.closeCircuit(account);
    if (typeof purpose === 'string')
      return this.acquireWithoutOutageCheck(account, requestsPerSecond, purpose);
    const wait = (unused: number): Promise<number> => this.waitFor(account, purpose, unused);
    const { tokenRequestedAt } = purpose;
    delete purpose.tokenRequestedAt;
    return createBudgetTokenRenewal(tokenRequestedAt ?? (await wait(0)), () => wait(1));
  }

  /**
   * Takes a token of the budget for a poll. Waits for the token without a time limit. Resolves to the time at which
   * the token was requested: the token expires a fixed time later.
   * @param unused number of unused tokens that are returned to the budget first
   * @throws {UpstreamUnavailableError} during an outage of the account
   * @throws {BudgetExhaustedError} if the wait is aborted
   */
  private waitFor(account: string, { kind, signal }: PollTokenSource, unused: number): Promise<number> {
    const { signal: stop, release } = combineAbortSignals(this.stopping.signal, signal);
    const wait = this.waits.run(
      `${kind} ${account}`,
      async () => {
        for (let returned = unused, waited = 0; ; returned = 0) {
          if (stop.aborted) throw new BudgetExhaustedError(waited);
          // Read the account's budget and outage before each try, because they may have changed during the wait for a
          // token.
          const { requestsPerSecond } = await this.findOpen(account);
          const { waitMs, requestedAt } = await this.budget.tryAcquire(
            account,
            requestsPerSecond,
            kind,
            returned,
          );
          if (waitMs === 0) return requestedAt;
          waited = waitMs;
          await pause(Math.min(waitMs, MAX_POLL_TOKEN_RETRY_PAUSE_MS), stop);
        }
      },
      stop,
    );
    return wait.finally(release);
  }

  /**
   * Returns the address, API key and request budget of an account's upstream.
   * @throws {UpstreamUnavailableError} during an outage of the account
   */
  private async findOpen(account: string): Promise<UpstreamAccount> {
    const found = await this.find(account);
    const outage = await this.health.outage(account);
    if (outage !== undefined) throw new UpstreamUnavailableError(outage.reason);
    return found;
  }
}
