import { DeadlineError, withDeadline } from '#platform';
import { BlobStoreUnavailableError } from './blob-store.js';

/**
 * Maximum number of file system calls at a time. Node.js makes file system calls and resolves host names on the same
 * four threads, so if the directory hangs, one thread must be left for host names.
 */
const MAX_CALLS = 3;
/** Time limit of a call, in milliseconds. */
const CALL_TIMEOUT_MS = 20_000;
/** Maximum time that a call waits until fewer than {@link MAX_CALLS} are running, in milliseconds. */
const MAX_WAIT_MS = 2_000;

/** Time limits of a {@link FileCallLimiter}, in milliseconds. Tests replace them. */
export interface FileCallLimits {
  callMs: number;
  waitMs: number;
}

/**
 * Thrown if a call to the directory, or earlier calls, do not return in time. The call may still have an effect later.
 */
export class FileCallTimeoutError extends BlobStoreUnavailableError {}

/**
 * Limits the number and the duration of file system calls, because a call may never return if the directory is on a
 * network share that hangs.
 */
export class FileCallLimiter {
  /** Number of running calls, including those that have exceeded their time limit. */
  private running = 0;
  private readonly waiting = new Set<() => void>();

  constructor(private readonly limits: FileCallLimits = { callMs: CALL_TIMEOUT_MS, waitMs: MAX_WAIT_MS }) {}

  /**
   * Makes a call as soon as fewer than {@link MAX_CALLS} are running.
   * @throws {FileCallTimeoutError} or the error of the call
   */
  async run<T>(call: () => Promise<T>): Promise<T> {
    await this.turn();
    const result = call();
    const end = (): void => {
      this.end();
    };
    void result.then(end, end);
    return await inTime(result, this.limits.callMs, 'a call to its directory');
  }

  private async turn(): Promise<void> {
    if (this.running < MAX_CALLS) {
      this.running += 1;
      return;
    }
    let begin: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => (begin = resolve));
    this.waiting.add(begin);
    try {
      await inTime(turn, this.limits.waitMs, 'the wait for earlier calls to its directory');
    } finally {
      this.waiting.delete(begin);
    }
  }

  /** Ends a call. The next waiting call takes its place. */
  private end(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.running -= 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}

async function inTime<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  try {
    return await withDeadline(promise, ms, what);
  } catch (error) {
    throw error instanceof DeadlineError ? new FileCallTimeoutError(error.message, { cause: error }) : error;
  }
}
