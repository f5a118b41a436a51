import type { PromMetrics } from './prom-metrics.js';

/** Registers a gauge of the difference between the clocks of this machine and of Redis. */
export function registerClockDifferenceMetric(
  clock: { readonly differenceMs: number },
  metrics: PromMetrics,
): void {
  metrics.readGauge(
    'tidings_clock_difference_seconds',
    "By how much the clock of this machine is ahead of Redis' clock.",
    () => clock.differenceMs / 1_000,
  );
}
