import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export type { Counter, Gauge, Histogram };

/** Upper bounds of the buckets of a delay that may last from milliseconds to a day, in seconds. */
export const DELAY_BUCKET_BOUNDS_SECONDS = [
  0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3_600, 14_400, 86_400,
];
/** Upper bounds of the buckets of a request's duration, in seconds. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Gauges of prom-client whose names have the suffix of counters, `_total`. They are removed. The gauges
 * without this suffix show the same values by type.
 */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * Interval at which the lag of the event loop is measured, in milliseconds. Each measurement wakes the process: at the
 * default of 10 ms, that is most of what an idle gateway costs. Node.js counts the interval as a part of the lag.
 */
const LAG_INTERVAL_MS = 50;

/** The metrics of Node.js. They are created only once, because their measurement runs until the process ends. */
let nodeMetrics: Registry | undefined;

function metricsOfNode(): Registry {
  if (nodeMetrics !== undefined) return nodeMetrics;
  nodeMetrics = new Registry();
  collectDefaultMetrics({ register: nodeMetrics, eventLoopMonitoringPrecision: LAG_INTERVAL_MS });
  for (const name of MISNAMED) nodeMetrics.removeSingleMetric(name);
  return nodeMetrics;
}

/** The metrics of one process: those of Node.js, `tidings_build_info`, and those that the process adds. */
export class PromMetrics {
  private readonly registry = new Registry();
  private readonly ofNode = metricsOfNode();

  /**
   * @param process `gateway` or `worker`
   * @param version version of the product
   */
  constructor(process: string, version: string) {
    const names = ['process', 'version'] as const;
    this.gauge('tidings_build_info', 'Always 1. The labels name the process and its version.', names)
      .labels(process, version)
      .set(1);
  }

  counter<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  gauge<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  /** Adds a gauge. Whenever the metrics are read, the function `read` provides its value. */
  readGauge(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({
      ...{ name, help, registers: [this.registry] },
      collect: () => {
        gauge.set(read());
      },
    });
  }

  /** @param buckets upper bounds of the buckets; the default suits the duration of a request in seconds */
  histogram<L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
    buckets: readonly number[] = DURATION_BUCKETS,
  ): Histogram<L> {
    return new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [this.registry] });
  }

  /** Returns all metrics in the text format of Prometheus, and the content type of that format. */
  async expose(): Promise<{ contentType: string; text: string }> {
    const texts = await Promise.all([this.registry, this.ofNode].map((registry) => registry.metrics()));
    return { contentType: this.registry.contentType, text: texts.join('') };
  }
}
