import { OnWorkerEvent, WorkerHost } from '@nestjs/bullmq';

/** Base class of all queue processors. */
export abstract class QueueProcessor extends WorkerHost {
  /**
   * Ignores BullMQ's connection errors. The Redis connection's own listener logs an outage once; BullMQ would
   * print every retry.
   */
  @OnWorkerEvent('error')
  onError(): void {
    // Already logged by the connection's listener.
  }
}
