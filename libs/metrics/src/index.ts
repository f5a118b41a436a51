/**
 * Metrics in the format of Prometheus. Only the apps import this lib. The other libs contain no code for
 * metrics: this lib observes calls of their objects.
 *
 * | | |
 * |---|---|
 * | `prom-metrics.ts`           | the metrics of one process, kept with prom-client |
 * | `*-metrics.ts`              | metrics of upstream, the feed, the relay, deliveries, Redis and the clock |
 * | `redis-command-observer.ts` | reports the commands of a connection to Redis |
 * | `event-loop-lag.ts`         | by how much timers are late |
 * | `bounded-metric-label.ts`          | keeps the number of values of a label bounded |
 * | `metrics-authorization.ts`         | who may read the metrics |
 */
export { registerClockDifferenceMetric } from './clock-metrics.js';
export { DeliveryMetrics } from './delivery-metrics.js';
export { FeedMetrics } from './feed-metrics.js';
export { METRICS_UNAUTHORIZED_MESSAGE, MetricsAuthorization } from './metrics-authorization.js';
export { type Counter, type Gauge, type Histogram, PromMetrics } from './prom-metrics.js';
export { registerRedisCommandMetrics } from './redis-metrics.js';
export { RelayMetrics } from './relay-metrics.js';
export { UpstreamMetrics } from './upstream-metrics.js';
