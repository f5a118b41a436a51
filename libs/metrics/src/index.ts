/**
 * Metrics in the format of Prometheus. Only the apps import this lib. The other libs contain no code for
 * metrics. Instead, this lib observes the method calls of their objects.
 *
 * | | |
 * |---|---|
 * | `prom-metrics.ts`               | the metrics of one process, based on prom-client |
 * | `*-metrics.ts`                  | metrics of upstream, the feed, sends, the relay, deliveries, Redis and the clock |
 * | `redis-command-observer.ts`     | reports the commands of a connection to Redis |
 * | `event-loop-lag-meter.ts`       | measures by how much timers are late |
 * | `metric-label-value-limiter.ts` | limits the number of values of a label |
 * | `metrics-authorizer.ts`         | decides who may read the metrics |
 * | `stats/`                        | statistics of each account in the last hour, by minute, stored in Redis for the API |
 */
export { registerClockDifferenceMetric } from './clock-metrics.js';
export { DeliveryMetrics } from './delivery-metrics.js';
export { FeedMetrics } from './feed-metrics.js';
export {
  METRICS_UNAUTHORIZED_MESSAGE,
  MetricsAuthorizer,
  type MetricsRequest,
} from './metrics-authorizer.js';
export { type Counter, type Gauge, type Histogram, PromMetrics } from './prom-metrics.js';
export { registerRedisCommandMetrics } from './redis-metrics.js';
export { RelayMetrics } from './relay-metrics.js';
export { SendMetrics } from './send-metrics.js';
export { createBacklogReader } from './stats/redis-backlog.js';
export {
  PER_MINUTE_COUNT_NAMES,
  type CountsByMinute,
  type MinuteCounts,
  addCounts,
  countsOfDelay,
  minuteNumberAt,
  createZeroCounts,
} from './stats/minute-counts.js';
export { openStatsRecorder } from './stats/redis-stats-recorder.js';
export { RedisStatsStore } from './stats/redis-stats-store.js';
export { type DelaySeries, type StatsOfLastHour, statsOfLastHour } from './stats/stats-of-last-hour.js';
export { type Backlog, type ReadBacklog, type StatsCounter, StatsRecorder } from './stats/stats-recorder.js';
export { type StoredStats, STATISTICS_PERIOD_MINUTES, type StatsStore } from './stats/stats-store.js';
export { UpstreamMetrics } from './upstream-metrics.js';
