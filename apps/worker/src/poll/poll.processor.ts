import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { QueuePayloads } from '#platform';
import type { AccountUpstream } from '#upstream';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { ACCOUNT_UPSTREAM, POLLER } from '../tokens.js';
import type { Poller } from './poller.js';

/** Hands the hints that an account has contacts to read to the {@link Poller}. */
@Processor('poll', { concurrency: 16, stalledInterval: STALLED_INTERVAL_MS })
export class PollProcessor extends QueueProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  constructor(
    @Inject(POLLER) private readonly poller: Pick<Poller, 'look' | 'stop' | 'ended'>,
    @Inject(ACCOUNT_UPSTREAM) private readonly upstream: Pick<AccountUpstream, 'stopWaiting'>,
  ) {
    super();
  }

  /** Takes nothing more. */
  async onModuleDestroy(): Promise<void> {
    this.poller.stop();
    this.upstream.stopWaiting();
    await this.worker.pause(true);
  }

  /** By now no role takes anything more. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.poller.ended();
  }

  /** A job ends at once: it only says that there is something to look for. */
  override process({ data }: Job<QueuePayloads['poll']>): Promise<void> {
    this.poller.look(data.account);
    return Promise.resolve();
  }
}
