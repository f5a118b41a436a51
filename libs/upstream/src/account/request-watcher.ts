import { LRUCache } from 'lru-cache';
import { type Logger, logMessageOf } from '#platform';
import type { AdaptiveBudget } from '../budget/request-budget.js';
import { UpstreamIsTidingsError, UpstreamStatusError } from '../upstream-error.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { OutageKind, UnprobedRequest, UpstreamHealth } from './upstream-health.js';

/**
 * Number of consecutive 403 answers to POSTs after which upstream is considered to refuse the account. Fewer 403
 * answers may mean that upstream refuses only these sends.
 */
const MAX_FORBIDDEN = 3;

/** Maximum number of accounts whose circuit breakers are kept in memory. */
const MAX_CIRCUITS = 10_000;

/** What {@link RequestWatcher.watch} must know about a request. */
interface WatchedRequest {
  /** What the request is for; absent for the contact list. */
  request?: UnprobedRequest;
  /** Returns true for an error that this request itself may have caused. */
  mayBeCausedByRequest?: (error: unknown) => boolean;
}

/**
 * Watches the outcomes of requests, and records what they show: outages, refusals, and whether the budget must shrink
 * or may grow.
 */
export class RequestWatcher {
  private readonly circuits = new LRUCache<string, CircuitBreaker>({ max: MAX_CIRCUITS });

  constructor(
    private readonly budget: AdaptiveBudget,
    private readonly health: UpstreamHealth,
    private readonly logger: Logger,
  ) {}

  /** Removes the circuit breaker of an account that was removed. */
  forget(account: string): void {
    this.circuits.delete(account);
  }

  /**
   * Closes the account's circuit breaker in this process, unless it opened after `asOf`. If upstream is still down,
   * the next failures open it again.
   * @param asOf a time at which no outage of the account was recorded in Redis, by `performance.now()`; default: now
   */
  closeCircuit(account: string, asOf?: number): void {
    this.circuitOf(account).reset(asOf);
  }

  /**
   * Makes a request through the account's circuit breaker. Records what the outcome shows about upstream: an outage,
   * a refusal, or a change of the budget.
   */
  async watch<T>(
    account: string,
    rate: number,
    make: () => Promise<T>,
    { request, mayBeCausedByRequest }: WatchedRequest,
  ): Promise<T> {
    const beganAt = performance.now();
    try {
      const result = await this.circuitOf(account).run(make, mayBeCausedByRequest, (error) =>
        this.hold(account, 'away', error, request),
      );
      await this.recordSuccess(account, rate);
      if (request !== undefined)
        await this.recordQuietly(account, () => this.health.recordSuccess(account, request, beganAt));
      return result;
    } catch (error) {
      await this.recordRefusal(account, rate, error);
      throw error;
    }
  }

  /** Records that upstream answered a request successfully: a reduced budget grows by one step. */
  async recordSuccess(account: string, rate: number): Promise<void> {
    await this.recordQuietly(account, () => this.budget.grow(account, rate));
  }

  /**
   * Records what an error shows about the account: the account makes too many requests (429), upstream refuses the
   * account (401), or the account's upstream address is that of a Tidings gateway.
   */
  async recordRefusal(account: string, rate: number, error: unknown): Promise<void> {
    if (error instanceof UpstreamIsTidingsError) await this.hold(account, 'loop', error);
    if (!(error instanceof UpstreamStatusError)) return;
    if (error.status === 429) await this.recordQuietly(account, () => this.budget.shrink(account, rate));
    if (error.status === 401) await this.hold(account, 'refused', error);
  }

  /**
   * Records whether upstream refused a POST with 403. Starts an outage at the third consecutive 403 answer; see
   * {@link MAX_FORBIDDEN}.
   * @param refusal the error status of the POST; undefined if the POST succeeded
   */
  async recordPostStatus(account: string, refusal: UpstreamStatusError | undefined): Promise<void> {
    await this.recordQuietly(account, async () => {
      if (refusal?.status !== 403) await this.health.resetForbidden(account);
      else if ((await this.health.countForbidden(account)) >= MAX_FORBIDDEN)
        await this.hold(account, 'refused', refusal);
    });
  }

  private async hold(
    account: string,
    kind: OutageKind,
    cause: unknown,
    request?: UnprobedRequest,
  ): Promise<void> {
    // The reason is stored, emitted in an event and logged. So it leaves out upstream's error text, which may
    // quote a message.
    const reason = logMessageOf(cause);
    await this.recordQuietly(account, async () => {
      if (await this.health.recordOutage(account, kind, reason, request))
        this.logger.warn(
          { account, kind, reason },
          'upstream is unavailable for an account; no requests are sent until a test request succeeds',
        );
    });
  }

  /**
   * Records in Redis how the outcome of a request changes the budget, the outage or the number of 403 answers of the
   * account. A failed write is only logged, so that it does not hide the outcome of the request.
   */
  private async recordQuietly(account: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.logger.warn(
        { account, err: error },
        'could not store the outcome of a request to upstream in Redis',
      );
    }
  }

  private circuitOf(account: string): CircuitBreaker {
    const circuit = this.circuits.get(account) ?? new CircuitBreaker();
    this.circuits.set(account, circuit);
    return circuit;
  }
}
