import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { EventLoopLagMeter, type LagReport } from './event-loop-lag-meter.js';

export type { Counter, Gauge, Histogram };

/** Upper bounds, in seconds, of the buckets of a histogram of delays. A delay may last from milliseconds to a day. */
export const DELAY_BUCKET_BOUNDS_SECONDS = [
  0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3_600, 14_400, 86_400,
];
/**
 * Default upper bounds, in seconds, of the buckets of a histogram. They suit the durations of HTTP requests and Redis
 * commands.
 */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Gauges of prom-client that are removed, because the suffix `_total` is only for counters. The same values, split by
 * type, are in the gauges without this suffix.
 */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * Interval at which prom-client measures the lag of the event loop, in milliseconds. prom-client cannot turn this
 * measurement off, so the interval is the longest that a timer allows. {@link EventLoopLagMeter} measures the lag
 * instead, because it costs an idle process far less.
 */
const LAG_INTERVAL_MS = 2_147_483_647;
/** Gauges of prom-client's event loop lag. They are removed and replaced by those of {@link EventLoopLagMeter}. */
const REPLACED = ['', '_min', '_max', '_mean', '_stddev', '_p50', '_p90', '_p99'].map(
  (kind) => `nodejs_eventloop_lag${kind}_seconds`,
);

/** The metrics of Node.js. They are created only once, because their measurements run until the process ends. */
let nodeMetrics: Registry | undefined;

function metricsOfNode(): Registry {
  if (nodeMetrics !== undefined) return nodeMetrics;
  nodeMetrics = new Registry();
  collectDefaultMetrics({ register: nodeMetrics, eventLoopMonitoringPrecision: LAG_INTERVAL_MS });
  for (const name of [...MISNAMED, ...REPLACED]) nodeMetrics.removeSingleMetric(name);
  registerEventLoopLag(nodeMetrics);
  return nodeMetrics;
}

function registerEventLoopLag(registry: Registry): void {
  const lag = new EventLoopLagMeter();
  lag.start();
  // The gauge `nodejs_eventloop_lag_seconds` also sets the gauges in `others`. It is registered before them, because
  // prom-client reads gauges in the order of their registration.
  const last: Gauge = new Gauge({
    ...{ name: 'nodejs_eventloop_lag_seconds', help: 'Lag of the event loop when it was last measured.' },
    registers: [registry],
    collect: () => {
      const report = lag.report();
      last.set(report.last);
      for (const [kind, gauge] of others) gauge.set(report[kind]);
    },
  });
  const gauge = (name: string, kind: string): Gauge => {
    const help = `${kind} of the lag of the event loop since the last scrape.`;
    return new Gauge({ name: `nodejs_eventloop_lag_${name}_seconds`, help, registers: [registry] });
  };
  const others: readonly [keyof LagReport, Gauge][] = [
    ['min', gauge('min', 'Minimum')],
    ['max', gauge('max', 'Maximum')],
    ['mean', gauge('mean', 'Mean')],
    ['stddev', gauge('stddev', 'Standard deviation')],
    ['p50', gauge('p50', '50th percentile')],
    ['p90', gauge('p90', '90th percentile')],
    ['p99', gauge('p99', '99th percentile')],
  ];
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
