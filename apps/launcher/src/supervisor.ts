import { ConfigurationError, pause } from '#platform';
import type { Run, Service } from './service.js';

/** Settings of a supervisor. */
export interface SupervisorOptions {
  print: (line: string) => void;
  /** Called when the service cannot be kept running. */
  onFailure: (error: unknown) => void;
  /** Aborts when the user asks to stop at once. */
  forceStop: AbortSignal;
  /** Delays before restarts after consecutive failures, in milliseconds. The last delay is repeated. */
  backoffMs?: readonly number[];
}

const BACKOFF_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];
/**
 * Maximum number of start attempts of a service that has never been ready. Later restarts are not limited.
 */
const MAX_START_ATTEMPTS = 3;
/** Run time after which the count of consecutive failures starts again, in milliseconds. */
const STABLE_MS = 60_000;

/** Keeps a service running: restarts the service with growing delays when it exits. */
export class Supervisor {
  private readonly stopping = new AbortController();
  private readonly backoffMs: readonly number[];
  private current: Run | undefined;
  private failures = 0;
  private work: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly service: Service,
    private readonly options: SupervisorOptions,
  ) {
    this.backoffMs = options.backoffMs ?? BACKOFF_MS;
  }

  /**
   * Starts the service. Resolves with its port when the service is ready. Rejects after several failed
   * attempts.
   */
  start(): Promise<number> {
    const starting = this.startWithRetries(MAX_START_ATTEMPTS);
    this.work = starting.catch(() => undefined);
    return starting;
  }

  /** Stops the service and its restarts. Resolves when the service has stopped. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.work;
    await this.current?.stop();
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async startWithRetries(maxFailures: number): Promise<number> {
    for (;;) {
      try {
        const run = await this.service.run(this.stopping.signal, this.options.forceStop);
        this.watch(run);
        return run.port;
      } catch (error) {
        this.failures++;
        const isFinal = error instanceof ConfigurationError || this.failures >= maxFailures;
        if (isFinal || this.isStopping()) throw error;
        await this.waitBeforeRestart(error instanceof Error ? error.message : String(error));
        if (this.isStopping()) throw error;
      }
    }
  }

  private watch(run: Run): void {
    this.current = run;
    const began = performance.now();
    void run.ended.then((how) => {
      this.current = undefined;
      if (this.isStopping()) return;
      this.failures = performance.now() - began > STABLE_MS ? 1 : this.failures + 1;
      this.work = this.restart(`the process ${this.service.name} exited (${how})`);
    });
  }

  private async restart(reason: string): Promise<void> {
    await this.waitBeforeRestart(reason);
    if (this.isStopping()) return;
    try {
      await this.startWithRetries(Infinity);
      this.options.print(`${this.service.name} is running again`);
    } catch (error) {
      if (!this.isStopping()) this.options.onFailure(error);
    }
  }

  private async waitBeforeRestart(reason: string): Promise<void> {
    const last = this.backoffMs.length - 1;
    const delay = this.backoffMs[Math.min(Math.max(this.failures - 1, 0), last)] ?? 0;
    this.options.print(`${reason}; restarting in ${delay / 1000} s`);
    await pause(delay, this.stopping.signal);
  }
}
