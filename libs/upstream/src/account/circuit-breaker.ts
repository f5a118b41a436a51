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
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnavailableError,
  UpstreamUnreachableError,
} from '../upstream-error.js';

/**
 * Number of failed requests after which the circuit breaker opens. There are two cases:
 *
 * 1. This number of requests got no answer since upstream last answered with a status other than 5xx.
 * 2. This number of consecutive requests failed, without an answer or with a 5xx answer, and the number of failed
 * requests is not below the number of requests that are still running. The second condition allows for an
 * overloaded upstream, which rejects some requests at once and answers the rest late.
 */
export const FAILURES_UNTIL_BREAKER_OPENS = 5;
/**
 * Time in milliseconds after which an open circuit breaker lets one request through. It matters only if the
 * outage could not be recorded in Redis.
 */
const HALF_OPEN_AFTER_MS = 5_000;

/**
 * Returns true if an error shows that upstream is down: no connection, no answer, or a 5xx answer. A 4xx
 * answer or an unreadable reply shows that upstream is running.
 */
export function meansUpstreamIsDown(error: unknown): boolean {
  return (
    error instanceof UpstreamUnreachableError ||
    error instanceof UpstreamTimeoutError ||
    error instanceof UpstreamConnectionLostError ||
    (error instanceof UpstreamStatusError && error.status >= 500)
  );
}

/** Returns true if upstream sent no answer at all, not even a 5xx. */
function isUnanswered(error: unknown): boolean {
  return meansUpstreamIsDown(error) && !(error instanceof UpstreamStatusError);
}

/** Outcome that shows that upstream is running: the result of a request, or an error such as a 4xx answer. */
type Answered<T> = { result: T } | { error: unknown };

/**
 * Circuit breaker of one account in this process. It opens when upstream seems to be down. All processes
 * together decide whether requests stop and when a probe is made; see {@link UpstreamHealth}.
 */
export class CircuitBreaker {
  /** Number of requests that are still running. */
  private waiting = 0;
  private breaker = this.newBreaker();
  private policy = this.newPolicy();

  isOpen(): boolean {
    return this.policy.state !== CircuitState.Closed;
  }

  /** Closes the circuit breaker, because Redis shows no outage. */
  reset(): void {
    if (!this.isOpen()) return;
    this.breaker = this.newBreaker();
    this.policy = this.newPolicy();
  }

  /**
   * Makes a request unless the circuit breaker is open.
   * @param isOwnFault returns true for an error that the request itself may have caused. Such an error does
   * not count as a failure, and does not reset the number of failures. While the breaker is open, the error
   * counts like any other.
   * @throws the error of the request, or {@link UpstreamUnavailableError} if the circuit breaker is open
   */
  async run<T>(request: () => Promise<T>, isOwnFault: (error: unknown) => boolean = () => false): Promise<T> {
    let outcome: Answered<T>;
    try {
      outcome = await this.policy.execute(async () => {
        try {
          return await answered(
            () => this.counted(request),
            (error) => !this.isOpen() && isOwnFault(error),
          );
        } catch (error) {
          if (isUnanswered(error)) this.breaker.unanswered += 1;
          throw error;
        }
      });
    } catch (error) {
      if (error instanceof OwnFault) throw error.cause;
      if (error instanceof BrokenCircuitError)
        throw new UpstreamUnavailableError('too many consecutive requests failed');
      throw error;
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  private async counted<T>(request: () => Promise<T>): Promise<T> {
    this.waiting += 1;
    try {
      return await request();
    } finally {
      this.waiting -= 1;
    }
  }

  private newPolicy(): CircuitBreakerPolicy {
    return circuitBreaker(handleWhen(meansUpstreamIsDown), {
      halfOpenAfter: HALF_OPEN_AFTER_MS,
      breaker: this.breaker,
    });
  }

  private newBreaker(): ConsecutiveFailuresBreaker {
    return new ConsecutiveFailuresBreaker(() => this.waiting);
  }
}

/** Wraps an error that the circuit breaker must not count, because the request itself may have caused it. */
class OwnFault extends Error {
  constructor(cause: unknown) {
    super('the request itself may have caused the error', { cause });
  }
}

/** Decides when the circuit breaker opens: after consecutive failures; see {@link FAILURES_UNTIL_BREAKER_OPENS}. */
class ConsecutiveFailuresBreaker implements IBreaker {
  /** Number of failed requests since the last answer other than a 5xx. */
  state = 0;
  /** Number of requests that got no answer since upstream last answered with a status other than 5xx. */
  unanswered = 0;

  constructor(private readonly waiting: () => number) {}

  success(): void {
    this.state = 0;
    this.unanswered = 0;
  }

  failure(state: CircuitState): boolean {
    this.state += 1;
    const isRefused = this.state >= FAILURES_UNTIL_BREAKER_OPENS && this.state >= this.waiting();
    return state === CircuitState.HalfOpen || this.unanswered >= FAILURES_UNTIL_BREAKER_OPENS || isRefused;
  }
}

/**
 * Makes a request. An error that shows that upstream is running is returned, not thrown, so that it resets
 * the number of failures.
 * @throws {OwnFault} if the request itself may have caused the error
 */
async function answered<T>(
  request: () => Promise<T>,
  isOwnFault: (error: unknown) => boolean,
): Promise<Answered<T>> {
  try {
    return { result: await request() };
  } catch (error) {
    if (isOwnFault(error)) throw new OwnFault(error);
    if (meansUpstreamIsDown(error)) throw error;
    return { error };
  }
}
