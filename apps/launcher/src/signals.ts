/** Requests to stop, received as Ctrl-C or signals. */
export interface StopSignals {
  /** Aborts on the first request to stop. */
  readonly stop: AbortSignal;
  /** Aborts on a later request: all processes are then killed. */
  readonly forceStop: AbortSignal;
  /**
   * Stops watching the parent process. The signal handlers stay: without them, a repeated Ctrl-C would change
   * the exit status of a process that has stopped in order.
   */
  dispose(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Time within which a second signal counts as the same Ctrl-C, in milliseconds. A Ctrl-C arrives twice: from
 * the terminal and from npm.
 */
const SAME_REQUEST_MS = 500;

const PARENT_CHECK_INTERVAL_MS = 250;

/**
 * Listens for requests to stop. Under npm, the end of the parent shell is a request too: `kill` of npm, or
 * `docker stop` of its container, ends that shell but sends this process no signal.
 */
export function listenForStop(underNpm: boolean): StopSignals {
  const stop = new AbortController();
  const forceStop = new AbortController();
  let first = 0;
  const onSignal = (): void => {
    if (!stop.signal.aborted) {
      first = performance.now();
      stop.abort();
    } else if (performance.now() - first > SAME_REQUEST_MS) {
      forceStop.abort();
    }
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (!underNpm || process.ppid === parent) return;
    clearInterval(watch);
    onSignal();
  }, PARENT_CHECK_INTERVAL_MS);
  return {
    stop: stop.signal,
    forceStop: forceStop.signal,
    dispose: () => {
      clearInterval(watch);
    },
  };
}
