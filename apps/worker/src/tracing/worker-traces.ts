import { DeliveryTracer, FeedTracer, RelayTracer, type Tracing } from '#tracing';

/** What a worker traces. The objects that it observes are built in `compose.ts` and the files of the roles. */
export class WorkerTraces {
  readonly feed: FeedTracer;
  readonly relay: RelayTracer;
  readonly deliveries: DeliveryTracer;

  private constructor(tracing: Tracing) {
    this.feed = new FeedTracer(tracing);
    this.relay = new RelayTracer(tracing);
    this.deliveries = new DeliveryTracer(tracing);
  }

  /** Returns undefined if traces are off. */
  static of(tracing: Tracing | undefined): WorkerTraces | undefined {
    return tracing === undefined ? undefined : new WorkerTraces(tracing);
  }
}
