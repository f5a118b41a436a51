import { ConfigurationError, pause } from '#platform';
import type { Run, Service } from './service.js';

export interface KeeperOptions {
  say: (line: string) => void;
  /** Is told when the service cannot be kept running. */
  giveUp: (error: unknown) => void;
  /** Aborts when whoever waits for the end has no more patience. */
  hurry: AbortSignal;
  /** Waits between runs that fail, in milliseconds; the last one is repeated. */
  backoffMs?: readonly number[];
}

const BACKOFF_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];
/** A service that never served is not waited for as long as one that has. */
const FIRST_ATTEMPTS = 3;
/** After a run of this length the next failure is a new one. */
const STEADY_MS = 60_000;

/** Keeps a service running: starts it again when it ends by itself, with longer and longer waits. */
export class Keeper {
  private readonly stopping = new AbortController();
  private readonly backoffMs: readonly number[];
  private current: Run | undefined;
  private failures = 0;
  private work: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly service: Service,
    private readonly options: KeeperOptions,
  ) {
    this.backoffMs = options.backoffMs ?? BACKOFF_MS;
  }

  /** Starts the service; resolves with its port when it serves, rejects when that fails time and again. */
  start(): Promise<number> {
    const starting = this.attempt(FIRST_ATTEMPTS);
    this.work = starting.catch(() => undefined);
    return starting;
  }

  /** Ends the service, and keeping it; resolves when it has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.work;
    await this.current?.stop();
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async attempt(most: number): Promise<number> {
    for (;;) {
      try {
        const run = await this.service.run(this.stopping.signal, this.options.hurry);
        this.watch(run);
        return run.port;
      } catch (error) {
        this.failures++;
        const hopeless = error instanceof ConfigurationError || this.failures >= most;
        if (hopeless || this.isStopping()) throw error;
        await this.wait(error instanceof Error ? error.message : String(error));
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
      this.failures = performance.now() - began > STEADY_MS ? 1 : this.failures + 1;
      this.work = this.revive(`${this.service.name} ended (${how})`);
    });
  }

  private async revive(reason: string): Promise<void> {
    await this.wait(reason);
    if (this.isStopping()) return;
    try {
      await this.attempt(Infinity);
      this.options.say(`${this.service.name} is running again`);
    } catch (error) {
      if (!this.isStopping()) this.options.giveUp(error);
    }
  }

  private async wait(reason: string): Promise<void> {
    const last = this.backoffMs.length - 1;
    const delay = this.backoffMs[Math.min(Math.max(this.failures - 1, 0), last)] ?? 0;
    this.options.say(`${reason}; starting it again in ${delay / 1000} s`);
    await pause(delay, this.stopping.signal);
  }
}
