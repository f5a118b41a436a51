import { DeliveryTraces, FeedTraces, RelayTraces, type Tracing } from '#tracing';

/** What a worker traces. The objects that it observes are built in `compose.ts` and the files of the roles. */
export class WorkerTraces {
  readonly feed: FeedTraces;
  readonly relay: RelayTraces;
  readonly deliveries: DeliveryTraces;

  private constructor(tracing: Tracing) {
    this.feed = new FeedTraces(tracing);
    this.relay = new RelayTraces(tracing);
    this.deliveries = new DeliveryTraces(tracing);
  }

  /** Returns undefined if traces are off. */
  static of(tracing: Tracing | undefined): WorkerTraces | undefined {
    return tracing === undefined ? undefined : new WorkerTraces(tracing);
  }
}
