import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import { AccountGoneError } from '#accounts';
import type { ContactPoll, FeedStore } from '#feed';
import { type Logger, logWords, type QueuePayloads } from '#platform';
import { BudgetExhaustedError, UpstreamError } from '#upstream';
import { AccountSlots } from '../account-slots.js';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { CONTACT_POLL, FEED_STORE, LOGGER } from '../tokens.js';
import { POLL_LEASE_MS } from './poll-rounds.js';

/** After a poll that failed its contact is left alone for so long. */
const PUT_OFF_MS = 5_000;
/** After an error that is nobody's outage it is left alone for longer: the next try will hardly do better. */
const PUT_OFF_BROKEN_MS = 60_000;
/** Polls under way in one worker; each may hold a page of the largest size. */
const SLOTS = { slots: 48, perAccount: 16, longestLine: 5_000 };

/** Reads the contacts that are due. A job ends when its poll has begun or waits for its account's turn. */
@Processor('poll', { concurrency: 16, stalledInterval: STALLED_INTERVAL_MS })
export class PollProcessor extends QueueProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly slots = new AccountSlots(SLOTS);

  constructor(
    @Inject(CONTACT_POLL) private readonly contacts: Pick<ContactPoll, 'poll'>,
    @Inject(FEED_STORE) private readonly store: Pick<FeedStore, 'postpone'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  /** Takes nothing more; what waits is due at once for other workers. */
  async onModuleDestroy(): Promise<void> {
    await this.worker.pause(true);
    for (const { account, about } of this.slots.close()) await this.putOff(account, about, 0);
  }

  /** By now no role takes anything more. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.slots.ended();
  }

  override async process({ data }: Job<QueuePayloads['poll']>): Promise<void> {
    const { account, contactId } = data;
    // A contact for which there is no place is due again when its lease is over.
    const taken = this.slots.offer(account, contactId, () => this.poll(account, contactId));
    if (!taken && this.slots.isClosed) await this.putOff(account, contactId, 0);
  }

  private async poll(account: string, contactId: string): Promise<void> {
    const renewal = setInterval(() => void this.putOff(account, contactId, POLL_LEASE_MS), POLL_LEASE_MS / 3);
    try {
      await this.contacts.poll(account, contactId);
    } catch (error) {
      if (error instanceof AccountGoneError) return;
      const outage = error instanceof UpstreamError || error instanceof BudgetExhaustedError;
      if (outage) this.logger.warn({ account, contactId, reason: logWords(error) }, 'a poll failed');
      else this.logger.error({ account, contactId, err: error }, 'a poll broke');
      await this.putOff(account, contactId, outage ? PUT_OFF_MS : PUT_OFF_BROKEN_MS);
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * When the contact is due again: a lease keeps others from a poll that takes long. One that is lost costs reads, and
   * nothing else: commits are fenced.
   */
  private async putOff(account: string, contactId: string, ms: number): Promise<void> {
    try {
      await this.store.postpone(account, contactId, ms);
    } catch (error) {
      this.logger.warn({ account, contactId, err: error }, 'a contact could not be put off');
    }
  }
}
