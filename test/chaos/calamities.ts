import { setTimeout as pause } from 'node:timers/promises';
import { clockOff } from '../support/clock-off.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import type { Product } from '../support/product.js';
import type { TestPair } from '../support/redis-pair.js';

const SLEEPERS = 10;
const ASLEEP_EVERY_MS = 4_000;
const ASLEEP_MS = 60_000;
const SWITCH_AFTER_MS = [20_000, 30_000] as const;
const FULL_AFTER_MS = 20_000;
const FULL_MS = 60_000;
const AHEAD_MS = 20 * 60_000;

/** Workers beside the product's own: one whose clock is 20 minutes ahead, and ten that are to be suspended. */
export class Calamities implements AsyncDisposable {
  private constructor(
    private readonly product: Product<TestPair>,
    private readonly ahead: ProductProcess,
    private readonly sleepers: readonly ProductProcess[],
  ) {}

  static async start(product: Product<TestPair>): Promise<Calamities> {
    const environment = { ...product.environment(), WORKER_PORT: '0' };
    const workers: ProductProcess[] = [];
    try {
      workers.push(await startProcess('worker', { ...environment, ...clockOff(AHEAD_MS) }));
      for (let n = 0; n < SLEEPERS; n += 1) workers.push(await startProcess('worker', environment));
    } catch (error) {
      await Promise.all(workers.map((worker) => worker.stop('SIGKILL')));
      throw error;
    }
    const [ahead, ...sleepers] = workers;
    if (ahead === undefined) throw new Error('no worker was started');
    return new Calamities(product, ahead, sleepers);
  }

  /**
   * Suspends each of ten workers for a minute, at ten instants; meanwhile Redis fails over to its replica, and back; and
   * then it is full for a minute.
   */
  async befall(): Promise<void> {
    const sleeping = Promise.all(this.sleepers.map((worker, n) => suspend(worker, n * ASLEEP_EVERY_MS)));
    for (const afterMs of SWITCH_AFTER_MS) {
      await pause(afterMs);
      await this.product.redis.switchOver();
    }
    await pause(FULL_AFTER_MS);
    await this.fill();
    await sleeping;
  }

  /** What the workers wrote. */
  logs(): string[] {
    return [this.ahead, ...this.sleepers].map(({ output }) => output());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.ahead, ...this.sleepers].map((worker) => worker.stop()));
  }

  /** What is to be stored is refused for a minute. */
  private async fill(): Promise<void> {
    await this.product.redis.master().ask('CONFIG', 'SET', 'maxmemory', '1');
    await pause(FULL_MS);
    await this.product.redis.master().ask('CONFIG', 'SET', 'maxmemory', '0');
  }
}

async function suspend({ child }: ProductProcess, afterMs: number): Promise<void> {
  await pause(afterMs);
  child.kill('SIGSTOP');
  await pause(ASLEEP_MS);
  child.kill('SIGCONT');
}
