import { Processor } from '@nestjs/bullmq';
import { Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { QueuePayloads } from '#platform';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { DISPATCH } from '../tokens.js';
import type { DispatchRole } from './compose-dispatch.js';

/**
 * Starts the due deliveries of an endpoint. A job ends when its attempts have started, so that a slow endpoint does not
 * block a job. Jobs wait while the process has no slot for attempts, so that other processes take further jobs.
 */
@Processor('deliveries', { concurrency: 32, stalledInterval: STALLED_INTERVAL_MS })
export class DeliveriesProcessor extends QueueProcessor implements OnModuleDestroy {
  constructor(@Inject(DISPATCH) private readonly role: Pick<DispatchRole, 'deliveries'>) {
    super();
  }

  /** Stops taking jobs, so that other workers take them. */
  async onModuleDestroy(): Promise<void> {
    await this.worker.pause(true);
  }

  override process({ data }: Job<QueuePayloads['deliveries']>): Promise<void> {
    return this.role.deliveries.work(data.account, data.endpointId);
  }
}
