import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { ProductProcess } from './process.js';

/** Resources of a process, from /proc. */
export interface ProcessUsage {
  /** Resident memory, in bytes. */
  readonly rss: number;
  /** Processor time of all threads since the start, in milliseconds, with a precision of 10 ms. */
  readonly cpuMs: number;
}

/** Unit of processor times in /proc. */
const TICK_MS = 10;
const SAMPLE_INTERVAL_MS = 250;

/** @throws {Error} if there is no `/proc` or the process does not exist */
export async function usageOf(pid: number | undefined): Promise<ProcessUsage> {
  const [status, stat] = await Promise.all([
    readFile(`/proc/${pid ?? 0}/status`, 'utf8'),
    readFile(`/proc/${pid ?? 0}/stat`, 'utf8'),
  ]);
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  // The name in parentheses may contain anything; the third field follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { rss: kilobytes * 1_024, cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS };
}

/** Measures the maximum resident memory of a process, in bytes. */
export class ResidentMemory {
  max = 0;

  constructor(private readonly worker: ProductProcess) {}

  /** Measures while some work runs. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const stop = new AbortController();
    const watching = this.watch(stop.signal);
    try {
      return await work();
    } finally {
      stop.abort();
      await watching;
    }
  }

  async sample(): Promise<number> {
    const { rss } = await usageOf(this.worker.child.pid);
    this.max = Math.max(this.max, rss);
    return rss;
  }

  private async watch(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.sample();
      await pause(SAMPLE_INTERVAL_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }
}
