/** One run of a service, from the moment the service is ready. */
export interface Run {
  readonly port: number;
  /** Resolves when the run has ended, with the cause: "exit status 1", "SIGKILL". */
  readonly ended: Promise<string>;
  /** Stops the run in order, or kills it when `forceStop` aborts. Resolves when the run has ended. */
  stop(): Promise<void>;
}

/** A service that should run all the time. */
export interface Service {
  readonly name: string;
  /**
   * Starts a run. Resolves when the service is ready. Aborting `signal` stops the start and rejects.
   * @throws {ConfigurationError} if a retry is useless until the user changes something
   */
  run(signal: AbortSignal, forceStop: AbortSignal): Promise<Run>;
}

/** A run that ended before the service was ready. */
export class StartFailure extends Error {}
