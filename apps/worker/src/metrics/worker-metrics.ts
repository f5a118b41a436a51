import {
  DeliveryMetrics,
  FeedMetrics,
  registerClockDifferenceMetric,
  registerRedisCommandMetrics,
  PromMetrics,
  RelayMetrics,
  SendMetrics,
  type StatsRecorder,
  UpstreamMetrics,
} from '#metrics';
import { productVersion, type RedisClient, type RedisClock } from '#platform';

/** What a worker measures. The objects that it observes are built in `compose.ts` and the files of the roles. */
export class WorkerMetrics {
  readonly all = new PromMetrics('worker', productVersion());
  readonly upstream: UpstreamMetrics;
  readonly feed: FeedMetrics;
  readonly sends: SendMetrics;
  readonly relay: RelayMetrics;
  readonly deliveries: DeliveryMetrics;

  /** @param stats also counts what is measured, for the statistics of the accounts */
  constructor(redis: RedisClient, clock: RedisClock, stats: StatsRecorder) {
    this.upstream = new UpstreamMetrics(this.all, stats);
    this.feed = new FeedMetrics(this.all, this.upstream, stats);
    this.sends = new SendMetrics(this.all, stats);
    this.relay = new RelayMetrics(this.all, this.upstream);
    this.deliveries = new DeliveryMetrics(this.all, clock, stats);
    registerClockDifferenceMetric(clock, this.all);
    registerRedisCommandMetrics(redis, this.all);
  }
}
