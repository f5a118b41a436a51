import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { QueuePayloads } from '#platform';
import type { BudgetedUpstream } from '#upstream';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { POLL } from '../tokens.js';
import type { Poller } from './poller.js';

/** The part of the role that the processor uses. */
interface PollWork {
  poller: Pick<Poller, 'check' | 'stop' | 'ended'>;
  upstream: Pick<BudgetedUpstream, 'stopWaiting'>;
}

/** Passes hints about accounts with due contacts to the {@link Poller}. */
@Processor('poll', { concurrency: 16, stalledInterval: STALLED_INTERVAL_MS })
export class PollProcessor extends QueueProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  constructor(@Inject(POLL) private readonly role: PollWork) {
    super();
  }

  /** Stops taking work. */
  async onModuleDestroy(): Promise<void> {
    this.role.poller.stop();
    this.role.upstream.stopWaiting();
    await this.worker.pause(true);
  }

  /** Waits for the running reads. No role accepts work at this point. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.role.poller.ended();
  }

  /** Ends the job at once: a job is only a hint to check the account. */
  override process({ data }: Job<QueuePayloads['poll']>): Promise<void> {
    this.role.poller.check(data.account);
    return Promise.resolve();
  }
}
