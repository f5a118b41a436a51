/** One run of a service, from the moment it serves. */
export interface Run {
  readonly port: number;
  /** Resolves when it has ended, with words on how: "exit status 1", "SIGKILL". */
  readonly ended: Promise<string>;
  /** Ends it in good order, or roughly when the `hurry` of its start aborts; resolves when it has ended. */
  stop(): Promise<void>;
}

/** Something that is to run all the time. */
export interface Service {
  readonly name: string;
  /**
   * Starts a run; resolves when it serves. Aborting `signal` ends what was begun, and rejects.
   * @throws {ConfigurationError} where trying again makes no sense before somebody has changed something.
   */
  run(signal: AbortSignal, hurry: AbortSignal): Promise<Run>;
}

/** A run that ended before it served. */
export class StartFailure extends Error {}
