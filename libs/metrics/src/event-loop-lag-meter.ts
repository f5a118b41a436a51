import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks';
// These functions are imported, because the fake timers of a test replace only the global functions. The measurement
// thus keeps running during and after such a test.
import { clearTimeout, setTimeout } from 'node:timers';

/** Time between two measurements while the process is idle, in milliseconds. Each measurement wakes the process. */
const IDLE_INTERVAL_MS = 1_000;
/** Time between two measurements while the process is busy, in milliseconds. */
const BUSY_INTERVAL_MS = 50;
/** A process counts as busy if its event loop was active for more than this share of the time, from 0 to 1. */
const BUSY_UTILIZATION = 0.1;
const NANOSECONDS_PER_MS = 1_000_000;
const NANOSECONDS_PER_SECOND = 1_000_000_000;

/**
 * Lags of the event loop since the previous report, in seconds. If nothing was measured since the previous report, all
 * fields except `last` are 0.
 */
export interface LagReport {
  /** The latest measured lag. It is reported again if nothing was measured since the previous report. */
  last: number;
  min: number;
  max: number;
  mean: number;
  stddev: number;
  p50: number;
  p90: number;
  p99: number;
}

/**
 * Measures by how much timers are late. While the process is busy, it measures twenty times a second. While the process
 * is idle, it measures once a second, because an idle process has no lag and each measurement costs CPU time.
 */
export class EventLoopLagMeter {
  private readonly lags: RecordableHistogram = createHistogram();
  private timer: NodeJS.Timeout | undefined;
  private expectedAt = 0;
  private lastMs = 0;
  private used = performance.eventLoopUtilization();

  /** Starts the measurements. Their timer does not keep the process alive. */
  start(): void {
    this.measureIn(IDLE_INTERVAL_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Returns the lags of the event loop that were measured since the last call of this method. */
  report(): LagReport {
    const { lags } = this;
    const last = this.lastMs / 1_000;
    if (lags.count === 0) return { last, min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 };
    const seconds = (nanoseconds: number): number => nanoseconds / NANOSECONDS_PER_SECOND;
    const report = {
      ...{ last, min: seconds(lags.min), max: seconds(lags.max) },
      ...{ mean: seconds(lags.mean), stddev: seconds(lags.stddev) },
      p50: seconds(lags.percentile(50)),
      p90: seconds(lags.percentile(90)),
      p99: seconds(lags.percentile(99)),
    };
    lags.reset();
    return report;
  }

  private measureIn(ms: number): void {
    this.expectedAt = performance.now() + ms;
    this.timer = setTimeout(() => {
      this.measure();
    }, ms).unref();
  }

  private measure(): void {
    this.lastMs = Math.max(performance.now() - this.expectedAt, 0);
    // The histogram accepts only integers above 0.
    this.lags.record(Math.max(Math.round(this.lastMs * NANOSECONDS_PER_MS), 1));
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.used);
    this.used = used;
    this.measureIn(utilization > BUSY_UTILIZATION ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS);
  }
}
