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
 * So many requests in a row that found upstream away open the circuit. A row of 5xx opens it only if no more requests than
 * failed still wait for their answers: an upstream that is overloaded refuses some at once, and answers the others late.
 */
export const AWAY_AFTER = 5;
/** A circuit whose opening could not be told to the others tries by itself after so long. */
const ALONE_MS = 5_000;

/** Whether a request found upstream away. A refusal is an answer, and so is one that cannot be read. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof UpstreamUnreachableError ||
    error instanceof UpstreamTimeoutError ||
    error instanceof UpstreamConnectionLostError ||
    (error instanceof UpstreamStatusError && error.status >= 500)
  );
}

/** Whether upstream was away without so much as a refusal. */
function isUnanswered(error: unknown): boolean {
  return isAway(error) && !(error instanceof UpstreamStatusError);
}

/** An end that says that upstream is there. */
type Answered<T> = { result: T } | { error: unknown };

/**
 * One account's circuit in this process: it notices that upstream is away. That the account is held then, and when it is
 * probed, all processes decide together; see {@link UpstreamHealth}.
 */
export class Circuit {
  /** Requests under way. */
  private waiting = 0;
  private row = this.newRow();
  private policy = this.newPolicy();

  isOpen(): boolean {
    return this.policy.state !== CircuitState.Closed;
  }

  /** From now on as if nothing had happened: the others say that upstream is there. */
  reset(): void {
    if (!this.isOpen()) return;
    this.row = this.newRow();
    this.policy = this.newPolicy();
  }

  /**
   * @param isOwnFault whether an error may be the request's own: it says neither that upstream is away nor that it is
   * there, and a row of failures goes on behind it. While the circuit is open it counts like any other.
   * @throws what the request throws, and {@link UpstreamUnavailableError} without making it while the circuit is open
   */
  async run<T>(request: () => Promise<T>, isOwnFault: (error: unknown) => boolean = () => false): Promise<T> {
    let end: Answered<T>;
    try {
      end = await this.policy.execute(async () => {
        try {
          return await answered(
            () => this.counted(request),
            (error) => !this.isOpen() && isOwnFault(error),
          );
        } catch (error) {
          if (isUnanswered(error)) this.row.unanswered += 1;
          throw error;
        }
      });
    } catch (error) {
      if (error instanceof OwnFault) throw error.cause;
      if (error instanceof BrokenCircuitError)
        throw new UpstreamUnavailableError('too many requests in a row failed');
      throw error;
    }
    if ('error' in end) throw end.error;
    return end.result;
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
    return circuitBreaker(handleWhen(isAway), {
      halfOpenAfter: ALONE_MS,
      breaker: this.row,
    });
  }

  private newRow(): RowBreaker {
    return new RowBreaker(() => this.waiting);
  }
}

/** Carries an error past the policy, which counts it neither way. */
class OwnFault extends Error {
  constructor(cause: unknown) {
    super('may be the fault of the request alone', { cause });
  }
}

/** Opens after a row of failures. */
class RowBreaker implements IBreaker {
  /** How many failed since the last answer. */
  state = 0;
  /** How many of these got no answer at all. */
  unanswered = 0;

  constructor(private readonly waiting: () => number) {}

  success(): void {
    this.state = 0;
    this.unanswered = 0;
  }

  failure(state: CircuitState): boolean {
    this.state += 1;
    const isRefused = this.state >= AWAY_AFTER && this.state >= this.waiting();
    return state === CircuitState.HalfOpen || this.unanswered >= AWAY_AFTER || isRefused;
  }
}

/** An error that is an answer must end the row of failures, too: to the policy it is a result. */
async function answered<T>(
  request: () => Promise<T>,
  isOwnFault: (error: unknown) => boolean,
): Promise<Answered<T>> {
  try {
    return { result: await request() };
  } catch (error) {
    if (isOwnFault(error)) throw new OwnFault(error);
    if (isAway(error)) throw error;
    return { error };
  }
}
