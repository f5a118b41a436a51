import type { RedisClient } from '#platform';
import { MetricLabelValueLimiter } from './metric-label-value-limiter.js';
import type { PromMetrics } from './prom-metrics.js';
import { observeRedisCommands } from './redis-command-observer.js';

/** Maximum number of Redis commands that get a time series of their own. All other commands share one time series. */
const MAX_COMMANDS = 50;

/** Counts and times the commands of a connection to Redis. */
export function registerRedisCommandMetrics(redis: RedisClient, metrics: PromMetrics): void {
  const commands = metrics.counter('tidings_redis_commands_total', 'Commands to Redis, by name.', [
    'command',
  ]);
  const seconds = metrics.histogram(
    'tidings_redis_command_duration_seconds',
    'Time from a command to the reply of Redis.',
  );
  const names = new MetricLabelValueLimiter(MAX_COMMANDS);
  observeRedisCommands(redis, (command, duration) => {
    commands.labels(names.valueOf(command)).inc();
    seconds.observe(duration);
  });
}
