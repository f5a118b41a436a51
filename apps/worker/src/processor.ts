import { OnWorkerEvent, WorkerHost } from '@nestjs/bullmq';

/** What all processors share. */
export abstract class QueueProcessor extends WorkerHost {
  /** A connection that fails is told of by its own listener, once; BullMQ would print every try. */
  @OnWorkerEvent('error')
  onError(): void {
    // Nothing besides.
  }
}
