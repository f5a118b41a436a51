import { DeadlineError, withDeadline } from '#platform';
import { BlobStoreUnavailableError } from './blob-store.js';

/**
 * Maximum number of calls that a {@link FileCallLimiter} makes at a time. Node.js makes file system calls and
 * resolves host names on the same four threads, so while the directory hangs, one thread must be left for host names.
 * (Reads of the content of opened files are not limited.)
 */
const MAX_CALLS = 3;
/** Time limit of a call, in milliseconds. */
const CALL_TIMEOUT_MS = 20_000;
/** A waiting call is rejected if none of the running calls has ended for this time, in milliseconds. */
const MAX_WAIT_MS = 2_000;

/** Time limits of a {@link FileCallLimiter}, in milliseconds. Tests replace them. */
export interface FileCallLimits {
  callMs: number;
  waitMs: number;
}

/**
 * Thrown if a file system call does not return in time; the call may still have an effect later. Also thrown if a
 * call is not made, because earlier calls do not return in time.
 */
export class FileCallTimeoutError extends BlobStoreUnavailableError {}

/**
 * Limits the number and the duration of file system calls, because a call may never return if the directory is on a
 * network share that hangs.
 */
export class FileCallLimiter {
  /** Number of running calls, including those that have exceeded their time limit. */
  private running = 0;
  /** When a call last ended, as returned by `performance.now()`. */
  private endedAt = -Infinity;
  private readonly waiting = new Set<() => void>();

  constructor(private readonly limits: FileCallLimits = { callMs: CALL_TIMEOUT_MS, waitMs: MAX_WAIT_MS }) {}

  /**
   * Makes a call as soon as fewer than {@link MAX_CALLS} are running.
   * @param undo called with the result of a call that ends only after its time limit, for example to close a file
   * @throws {FileCallTimeoutError} or the error of the call
   */
  async run<T>(call: () => Promise<T>, undo?: (late: T) => Promise<unknown>): Promise<T> {
    await this.turn(false);
    const result = this.begun(call);
    try {
      return await inTime(result, this.limits.callMs, 'a call to its directory');
    } catch (error) {
      if (error instanceof FileCallTimeoutError && undo !== undefined) void result.then(undo).catch(ignore);
      throw error;
    }
  }

  /**
   * Waits, without a time limit, until fewer than {@link MAX_CALLS} calls are running, then makes the call. An error
   * of the call is ignored.
   */
  async runLater(call: () => Promise<unknown>): Promise<void> {
    await this.turn(true);
    await this.begun(call).catch(ignore);
  }

  private begun<T>(call: () => Promise<T>): Promise<T> {
    const result = call();
    const end = (): void => {
      this.end();
    };
    void result.then(end, end);
    return result;
  }

  private async turn(isPatient: boolean): Promise<void> {
    if (this.running < MAX_CALLS) {
      this.running += 1;
      return;
    }
    let begin: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => (begin = resolve));
    this.waiting.add(begin);
    if (isPatient) return turn;
    const { waitMs } = this.limits;
    try {
      for (;;) {
        try {
          await inTime(turn, waitMs, 'the wait for earlier calls to its directory');
          return;
        } catch (error) {
          // The calls are slow, but none of them hangs.
          if (performance.now() - this.endedAt > waitMs) throw error;
        }
      }
    } finally {
      this.waiting.delete(begin);
    }
  }

  /** Called when a call has ended. The next waiting call gets the slot of the ended call. */
  private end(): void {
    this.endedAt = performance.now();
    const [next] = this.waiting;
    if (next === undefined) {
      this.running -= 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}

/** Ignores the error of a call that only cleans up after an earlier error. */
function ignore(): void {
  // The caller has already received the earlier error.
}

async function inTime<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  try {
    return await withDeadline(promise, ms, what);
  } catch (error) {
    throw error instanceof DeadlineError ? new FileCallTimeoutError(error.message, { cause: error }) : error;
  }
}
