import {
  DeliveryMetrics,
  FeedMetrics,
  registerClockDifferenceMetric,
  registerRedisCommandMetrics,
  PromMetrics,
  RelayMetrics,
  UpstreamMetrics,
} from '#metrics';
import { productVersion, type RedisClient, type RedisClock } from '#platform';

/** What a worker measures. The objects that it observes are built in `compose.ts` and the files of the roles. */
export class WorkerMetrics {
  readonly all = new PromMetrics('worker', productVersion());
  readonly upstream = new UpstreamMetrics(this.all);
  readonly feed = new FeedMetrics(this.all, this.upstream);
  readonly relay = new RelayMetrics(this.all);
  readonly deliveries: DeliveryMetrics;

  constructor(redis: RedisClient, clock: RedisClock) {
    this.deliveries = new DeliveryMetrics(this.all, clock);
    registerClockDifferenceMetric(clock, this.all);
    registerRedisCommandMetrics(redis, this.all);
  }
}
