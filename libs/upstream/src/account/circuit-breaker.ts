import {
  BrokenCircuitError,
  circuitBreaker,
  type CircuitBreakerPolicy,
  CircuitState,
  handleWhen,
  type IBreaker,
} from 'cockatiel';
import {
  UpstreamConnectionLostError,
  UpstreamError,
  UpstreamRequestNotSentError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnavailableError,
  UpstreamUnreachableError,
} from '../upstream-error.js';

/**
 * Number of consecutive failures after which the circuit breaker opens. A failure is a request that gets a 5xx answer
 * or no complete answer. Any other answer resets the number of failures to 0. A request that was not sent, or whose
 * error the request itself may have caused, changes nothing, with one exception: a trial that was not sent closes the
 * breaker. The number of failures stays, so the breaker usually opens again at the next failure.
 *
 * If this many of the failures are requests without a complete answer, the breaker opens at once. Otherwise, it opens
 * only when there are also at least as many failures as running requests: an upstream that is only overloaded rejects
 * some requests at once with 5xx, and answers the running requests late.
 */
export const FAILURES_UNTIL_BREAKER_OPENS = 5;
/**
 * Time in milliseconds after which an open circuit breaker lets one request through. This matters only if the outage
 * could not be recorded in Redis. A recorded outage stops all requests except probes.
 */
const HALF_OPEN_AFTER_MS = 5_000;

/**
 * Returns true if an error shows that upstream is down: no connection, no complete answer in time, or a 5xx answer. A
 * 4xx answer or an unreadable reply shows that upstream is running.
 */
export function isUpstreamDownError(error: unknown): boolean {
  return (
    error instanceof UpstreamUnreachableError ||
    error instanceof UpstreamTimeoutError ||
    error instanceof UpstreamConnectionLostError ||
    (error instanceof UpstreamStatusError && error.status >= 500)
  );
}

/**
 * Returns true for an error that does not show whether upstream is running, because the request was not sent. This
 * includes errors that do not come from upstream, such as those of the request budget and of Redis.
 */
function isNotSent(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return true;
  return error instanceof UpstreamRequestNotSentError || error instanceof UpstreamUnavailableError;
}

/** Returns true if upstream sent no complete answer, not even a 5xx. */
function isUnanswered(error: unknown): boolean {
  return isUpstreamDownError(error) && !(error instanceof UpstreamStatusError);
}

/** Outcome that shows that upstream is running: the result of a request, or an error such as a 4xx answer. */
type Answered<T> = { result: T } | { error: unknown };

/**
 * Circuit breaker of one account in this process. It opens when upstream seems to be down, and the process then
 * records an outage in Redis. For all processes, this record decides whether requests stop and when a probe is
 * made; see {@link UpstreamHealth}.
 */
export class CircuitBreaker {
  private runningRequests = 0;
  /**
   * Time of the latest failure of a request that began while the circuit breaker was closed and ended while it was
   * open, by `performance.now()`.
   */
  private openedAt = 0;
  private breaker = this.newBreaker();
  private policy = this.newPolicy();

  isOpen(): boolean {
    return this.policy.state !== CircuitState.Closed;
  }

  /**
   * Closes the circuit breaker, unless it opened after `asOf`.
   * @param asOf a time at which no outage of the account was recorded in Redis, by `performance.now()`; default: now
   */
  reset(asOf = performance.now()): void {
    if (!this.isOpen() || this.openedAt > asOf) return;
    this.breaker = this.newBreaker();
    this.policy = this.newPolicy();
  }

  /**
   * Makes a request if the circuit breaker is closed. While the breaker is open, makes one request as a trial every
   * {@link HALF_OPEN_AFTER_MS}.
   * @param mayBeCausedByRequest returns true for an error that the request itself may have caused; the circuit
   * breaker ignores such an error, except in a trial, where it counts as a failure if it shows that upstream is down
   * @param onOpened called with the error of a request that shows that upstream is down, if the circuit breaker was
   * closed when the request began and is open now
   * @throws the error of the request, or {@link UpstreamUnavailableError} if no request was made
   */
  async run<T>(
    request: () => Promise<T>,
    mayBeCausedByRequest: (error: unknown) => boolean = () => false,
    onOpened?: (error: unknown) => Promise<void>,
  ): Promise<T> {
    const wasOpen = this.isOpen();
    try {
      return await this.runIfClosed(request, mayBeCausedByRequest);
    } catch (error) {
      if (!wasOpen && this.isOpen() && isUpstreamDownError(error)) {
        this.openedAt = performance.now();
        await onOpened?.(error);
      }
      throw error;
    }
  }

  private async runIfClosed<T>(
    request: () => Promise<T>,
    mayBeCausedByRequest: (error: unknown) => boolean,
  ): Promise<T> {
    let outcome: Answered<T>;
    // A failure counts for the breaker that admitted the request, which a reset may have replaced meanwhile.
    const { breaker } = this;
    try {
      outcome = await this.policy.execute(async () => {
        try {
          return await answered(
            () => this.counted(request),
            (error) => isNotSent(error) || (!this.isOpen() && mayBeCausedByRequest(error)),
          );
        } catch (error) {
          if (isUnanswered(error)) breaker.unanswered += 1;
          throw error;
        }
      });
    } catch (error) {
      if (error instanceof UncountedError) throw error.cause;
      if (error instanceof BrokenCircuitError)
        throw new UpstreamUnavailableError('too many consecutive requests failed');
      throw error;
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  private async counted<T>(request: () => Promise<T>): Promise<T> {
    this.runningRequests += 1;
    try {
      return await request();
    } finally {
      this.runningRequests -= 1;
    }
  }

  private newPolicy(): CircuitBreakerPolicy {
    return circuitBreaker(handleWhen(isUpstreamDownError), {
      halfOpenAfter: HALF_OPEN_AFTER_MS,
      breaker: this.breaker,
    });
  }

  private newBreaker(): ConsecutiveFailuresBreaker {
    return new ConsecutiveFailuresBreaker(() => this.runningRequests);
  }
}

/**
 * Wraps an error that the circuit breaker must not count, because the request itself may have caused it, or was not
 * sent.
 */
class UncountedError extends Error {
  constructor(cause: unknown) {
    super('the error says nothing about upstream', { cause });
  }
}

/** Decides when the circuit breaker opens: after consecutive failures; see {@link FAILURES_UNTIL_BREAKER_OPENS}. */
class ConsecutiveFailuresBreaker implements IBreaker {
  /**
   * Number of consecutive failures: 5xx answers and requests without a complete answer. `IBreaker` requires this
   * name.
   */
  state = 0;
  /**
   * Number of requests that got no complete answer, not even a 5xx, since upstream last answered with a status below
   * 500.
   */
  unanswered = 0;

  constructor(private readonly runningRequests: () => number) {}

  success(): void {
    this.state = 0;
    this.unanswered = 0;
  }

  failure(state: CircuitState): boolean {
    this.state += 1;
    const isRefused = this.state >= FAILURES_UNTIL_BREAKER_OPENS && this.state >= this.runningRequests();
    return state === CircuitState.HalfOpen || this.unanswered >= FAILURES_UNTIL_BREAKER_OPENS || isRefused;
  }
}

/**
 * Makes a request. Returns the result, or an error that shows that upstream is running. The circuit breaker counts
 * both as success.
 * @throws {UncountedError} if the error says nothing about upstream; the circuit breaker does not count such an
 * error, but closes if the request was a trial
 * @throws the error of the request if it shows that upstream is down
 */
async function answered<T>(
  request: () => Promise<T>,
  isUncounted: (error: unknown) => boolean,
): Promise<Answered<T>> {
  try {
    return { result: await request() };
  } catch (error) {
    if (isUncounted(error)) throw new UncountedError(error);
    if (isUpstreamDownError(error)) throw error;
    return { error };
  }
}
