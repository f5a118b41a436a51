import { Processor } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { ContactPoll, FeedStore } from '#feed';
import { type Logger, logWords, type QueuePayloads } from '#platform';
import { BudgetExhaustedError, UpstreamError } from '#upstream';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { CONTACT_POLL, FEED_STORE, LOGGER } from '../tokens.js';
import { POLL_LEASE_MS } from './poll-rounds.js';

/** After a poll that failed its contact is left alone for so long. */
const PUT_OFF_MS = 5_000;
/** After an error that is nobody's outage it is left alone for longer: the next try will hardly do better. */
const PUT_OFF_BROKEN_MS = 60_000;

/** Reads the contacts that are due. */
@Processor('poll', { concurrency: 16, stalledInterval: STALLED_INTERVAL_MS })
export class PollProcessor extends QueueProcessor {
  constructor(
    @Inject(CONTACT_POLL) private readonly contacts: ContactPoll,
    @Inject(FEED_STORE) private readonly store: FeedStore,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  override async process({ data }: Job<QueuePayloads['poll']>): Promise<void> {
    const { account, contactId } = data;
    const renewal = setInterval(() => {
      this.renew(account, contactId);
    }, POLL_LEASE_MS / 3);
    try {
      await this.contacts.poll(account, contactId);
    } catch (error) {
      const outage = error instanceof UpstreamError || error instanceof BudgetExhaustedError;
      if (outage) this.logger.warn({ account, contactId, reason: logWords(error) }, 'a poll failed');
      else this.logger.error({ account, contactId, err: error }, 'a poll broke');
      await this.store.postpone(account, contactId, outage ? PUT_OFF_MS : PUT_OFF_BROKEN_MS);
    } finally {
      clearInterval(renewal);
    }
  }

  /** Keeps others from a poll that takes long. A lease that is lost costs reads, and nothing else: commits are fenced. */
  private renew(account: string, contactId: string): void {
    this.store.postpone(account, contactId, POLL_LEASE_MS).catch((error: unknown) => {
      this.logger.warn({ account, contactId, err: error }, 'the lease of a poll could not be renewed');
    });
  }
}
