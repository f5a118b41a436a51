import { setTimeout as pause } from 'node:timers/promises';
import { shiftedClock } from '../support/shifted-clock-environment.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import type { Product } from '../support/product.js';
import type { TestPair } from '../support/redis-pair.js';

const SUSPENDED_WORKERS = 10;
const SUSPEND_INTERVAL_MS = 4_000;
const SUSPENDED_MS = 60_000;
const FAILOVER_DELAYS_MS = [20_000, 30_000] as const;
const FULL_DELAY_MS = 20_000;
const FULL_MS = 60_000;
const AHEAD_MS = 20 * 60_000;

/**
 * Disturbs a product that uses a replicated Redis. Runs additional workers: one whose clock is 20 minutes
 * ahead, and ten that are suspended for a minute each, one every four seconds.
 */
export class Calamities implements AsyncDisposable {
  private constructor(
    private readonly product: Product<TestPair>,
    private readonly ahead: ProductProcess,
    private readonly suspendable: readonly ProductProcess[],
  ) {}

  static async start(product: Product<TestPair>): Promise<Calamities> {
    const environment = { ...product.environment(), WORKER_PORT: '0' };
    const workers: ProductProcess[] = [];
    try {
      workers.push(await startProcess('worker', { ...environment, ...shiftedClock(AHEAD_MS) }));
      for (let n = 0; n < SUSPENDED_WORKERS; n += 1) workers.push(await startProcess('worker', environment));
    } catch (error) {
      await Promise.all(workers.map((worker) => worker.stop('SIGKILL')));
      throw error;
    }
    const [ahead, ...sleepers] = workers;
    if (ahead === undefined) throw new Error('no worker was started');
    return new Calamities(product, ahead, sleepers);
  }

  /**
   * Suspends each of the ten workers for a minute, at different times. Meanwhile Redis fails over to its
   * replica and back, and then is full for a minute.
   */
  async run(): Promise<void> {
    const sleeping = Promise.all(
      this.suspendable.map((worker, n) => suspend(worker, n * SUSPEND_INTERVAL_MS)),
    );
    for (const afterMs of FAILOVER_DELAYS_MS) {
      await pause(afterMs);
      await this.product.redis.switchOver();
    }
    await pause(FULL_DELAY_MS);
    await this.fill();
    await sleeping;
  }

  /** Returns the output of the additional workers. */
  logs(): string[] {
    return [this.ahead, ...this.suspendable].map(({ output }) => output());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.ahead, ...this.suspendable].map((worker) => worker.stop()));
  }

  /** Makes Redis refuse all writes that need memory, for a minute. */
  private async fill(): Promise<void> {
    await this.product.redis.master().ask('CONFIG', 'SET', 'maxmemory', '1');
    await pause(FULL_MS);
    await this.product.redis.master().ask('CONFIG', 'SET', 'maxmemory', '0');
  }
}

async function suspend({ child }: ProductProcess, afterMs: number): Promise<void> {
  await pause(afterMs);
  child.kill('SIGSTOP');
  await pause(SUSPENDED_MS);
  child.kill('SIGCONT');
}
