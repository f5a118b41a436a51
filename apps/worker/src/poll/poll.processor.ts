import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { QueuePayloads } from '#platform';
import type { AccountUpstream } from '#upstream';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { ACCOUNT_UPSTREAM, POLLER } from '../tokens.js';
import type { Poller } from './poller.js';

/** Passes hints about accounts with due contacts to the {@link Poller}. */
@Processor('poll', { concurrency: 16, stalledInterval: STALLED_INTERVAL_MS })
export class PollProcessor extends QueueProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  constructor(
    @Inject(POLLER) private readonly poller: Pick<Poller, 'check' | 'stop' | 'ended'>,
    @Inject(ACCOUNT_UPSTREAM) private readonly upstream: Pick<AccountUpstream, 'stopWaiting'>,
  ) {
    super();
  }

  /** Stops taking work. */
  async onModuleDestroy(): Promise<void> {
    this.poller.stop();
    this.upstream.stopWaiting();
    await this.worker.pause(true);
  }

  /** Waits for the running reads. No role accepts work at this point. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.poller.ended();
  }

  /** Ends the job at once: a job is only a hint to check the account. */
  override process({ data }: Job<QueuePayloads['poll']>): Promise<void> {
    this.poller.check(data.account);
    return Promise.resolve();
  }
}
