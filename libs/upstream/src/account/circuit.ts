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
 * Number of consecutive requests without an answer, or with a 5xx, that open the circuit. Consecutive 5xx
 * answers open it only if at most as many requests are still under way: an overloaded upstream rejects some
 * requests at once and answers the others late.
 */
export const FAILURES_UNTIL_OPEN = 5;
/**
 * Time until an open circuit lets one request through, in milliseconds. Used only if the outage could not be
 * recorded.
 */
const HALF_OPEN_AFTER_MS = 5_000;

/**
 * Returns true if an error shows that upstream is away. A 4xx or an unreadable reply shows that upstream is
 * there.
 */
export function meansUpstreamIsUnreachable(error: unknown): boolean {
  return (
    error instanceof UpstreamUnreachableError ||
    error instanceof UpstreamTimeoutError ||
    error instanceof UpstreamConnectionLostError ||
    (error instanceof UpstreamStatusError && error.status >= 500)
  );
}

/** Returns true if upstream was away and sent no answer at all, not even a 5xx. */
function isUnanswered(error: unknown): boolean {
  return meansUpstreamIsUnreachable(error) && !(error instanceof UpstreamStatusError);
}

/** Outcome of a request that shows that upstream is there. */
type Answered<T> = { result: T } | { error: unknown };

/**
 * Circuit breaker of one account in this process: it notices that upstream is away. Whether requests stop, and
 * when a test request is made, is decided by all processes together; see {@link UpstreamHealth}.
 */
export class Circuit {
  /** Number of requests under way. */
  private waiting = 0;
  private breaker = this.newBreaker();
  private policy = this.newPolicy();

  isOpen(): boolean {
    return this.policy.state !== CircuitState.Closed;
  }

  /** Closes the circuit, because the shared health shows no outage. */
  reset(): void {
    if (!this.isOpen()) return;
    this.breaker = this.newBreaker();
    this.policy = this.newPolicy();
  }

  /**
   * Makes a request unless the circuit is open.
   * @param isOwnFault returns true for an error that the request itself may have caused. Such an error neither
   * counts as a failure nor ends a series of failures. While the circuit is open, the error counts like any
   * other.
   * @throws the error of the request, or {@link UpstreamUnavailableError} if the circuit is open
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
    return circuitBreaker(handleWhen(meansUpstreamIsUnreachable), {
      halfOpenAfter: HALF_OPEN_AFTER_MS,
      breaker: this.breaker,
    });
  }

  private newBreaker(): ConsecutiveFailuresBreaker {
    return new ConsecutiveFailuresBreaker(() => this.waiting);
  }
}

/** Wraps an error that the circuit breaker must not count. */
class OwnFault extends Error {
  constructor(cause: unknown) {
    super('the request itself may have caused the error', { cause });
  }
}

/** Breaker that opens after consecutive failures. */
class ConsecutiveFailuresBreaker implements IBreaker {
  /** Number of failures since the last answer. */
  state = 0;
  /** Number of these failures without any answer. */
  unanswered = 0;

  constructor(private readonly waiting: () => number) {}

  success(): void {
    this.state = 0;
    this.unanswered = 0;
  }

  failure(state: CircuitState): boolean {
    this.state += 1;
    const isRefused = this.state >= FAILURES_UNTIL_OPEN && this.state >= this.waiting();
    return state === CircuitState.HalfOpen || this.unanswered >= FAILURES_UNTIL_OPEN || isRefused;
  }
}

/** Turns an error that shows that upstream is there into a result, so that it ends the series of failures. */
async function answered<T>(
  request: () => Promise<T>,
  isOwnFault: (error: unknown) => boolean,
): Promise<Answered<T>> {
  try {
    return { result: await request() };
  } catch (error) {
    if (isOwnFault(error)) throw new OwnFault(error);
    if (meansUpstreamIsUnreachable(error)) throw error;
    return { error };
  }
}
