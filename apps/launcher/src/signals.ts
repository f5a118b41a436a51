/** What people ask of a running program by Ctrl-C or `kill`. */
export interface Wishes {
  /** Aborts when it is to stop. */
  readonly stop: AbortSignal;
  /** Aborts when it is asked again: stop roughly. */
  readonly hurry: AbortSignal;
  /** Stops listening. */
  dispose(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** One Ctrl-C arrives twice, from the terminal and passed on by npm, and is one wish. */
const SAME_WISH_MS = 500;

const LOOK_FOR_PARENT_MS = 250;

/**
 * Listens for signals; under npm also for the end of the shell that npm has put between itself and this process:
 * `kill` of npm, or `docker stop` of a container that runs it, reaches that shell and nobody below it.
 */
export function listenForWishes(underNpm: boolean): Wishes {
  const stop = new AbortController();
  const hurry = new AbortController();
  let first = 0;
  const hear = (): void => {
    if (!stop.signal.aborted) {
      first = performance.now();
      stop.abort();
    } else if (performance.now() - first > SAME_WISH_MS) {
      hurry.abort();
    }
  };
  for (const name of SIGNALS) process.on(name, hear);
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (!underNpm || process.ppid === parent) return;
    clearInterval(watch);
    hear();
  }, LOOK_FOR_PARENT_MS);
  return {
    stop: stop.signal,
    hurry: hurry.signal,
    dispose: () => {
      clearInterval(watch);
      for (const name of SIGNALS) process.off(name, hear);
    },
  };
}
