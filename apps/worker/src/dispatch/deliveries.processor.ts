import { Processor } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { QueuePayloads } from '#platform';
import type { DeliveryWorker } from '#webhooks';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { DELIVERY_PUMP } from '../tokens.js';

/**
 * Starts the due deliveries of an endpoint. A job ends when its attempts have started, so that a slow
 * endpoint does not block a job.
 */
@Processor('deliveries', { concurrency: 32, stalledInterval: STALLED_INTERVAL_MS })
export class DeliveriesProcessor extends QueueProcessor {
  constructor(@Inject(DELIVERY_PUMP) private readonly pump: DeliveryWorker) {
    super();
  }

  override process({ data }: Job<QueuePayloads['deliveries']>): Promise<void> {
    return this.pump.work(data.account, data.endpointId);
  }
}
