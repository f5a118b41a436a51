import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import { AccountGoneError, type AccountDirectory } from '#accounts';
import type { ContactPoll, FeedStore } from '#feed';
import { type Logger, logWords, type QueuePayloads } from '#platform';
import { type AccountUpstream, BudgetExhaustedError, UpstreamError } from '#upstream';
import { AccountSlots } from '../account-slots.js';
import { QueueProcessor } from '../processor.js';
import { STALLED_INTERVAL_MS } from '../queue.js';
import { ACCOUNT_UPSTREAM, ACCOUNTS, CONTACT_POLL, FEED_STORE, LOGGER } from '../tokens.js';

/** A contact whose poll was lost with its worker is due again after this; a poll that takes longer renews it. */
const POLL_LEASE_MS = 6_000;
/** After a poll that failed its contact is left alone for so long. */
const PUT_OFF_MS = 5_000;
/** After an error that is nobody's outage it is left alone for longer: the next try will hardly do better. */
const PUT_OFF_BROKEN_MS = 60_000;
/** Polls under way in one worker; each may hold a page of the largest size. */
const SLOTS = { slots: 48, perAccount: 16, longestLine: 1 };
/** So many seconds of an account's budget are under way at most; more polls would only wait for each other. */
const SECONDS_UNDER_WAY = 2;
/** What waits for a slot is that an account is looked at again; what is due stays in Redis until there is one. */
const LOOK = 'look';

/**
 * Reads the contacts that are due. Each poll takes up one contact when it has its slot, the longest due first, and asks
 * for a slot for the next one; so a worker that dies takes along only what it was reading.
 */
@Processor('poll', { concurrency: 16, stalledInterval: STALLED_INTERVAL_MS })
export class PollProcessor extends QueueProcessor implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly slots = new AccountSlots(SLOTS);

  constructor(
    @Inject(CONTACT_POLL) private readonly contacts: Pick<ContactPoll, 'poll'>,
    @Inject(FEED_STORE) private readonly store: Pick<FeedStore, 'claimDue' | 'postpone'>,
    @Inject(ACCOUNTS) private readonly accounts: Pick<AccountDirectory, 'find'>,
    @Inject(ACCOUNT_UPSTREAM) private readonly upstream: Pick<AccountUpstream, 'isHeld'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  /** Takes nothing more. */
  async onModuleDestroy(): Promise<void> {
    this.slots.close();
    await this.worker.pause(true);
  }

  /** By now no role takes anything more. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.slots.ended();
  }

  /** A job ends at once: it only says that there is something to look for. */
  override process({ data }: Job<QueuePayloads['poll']>): Promise<void> {
    this.look(data.account);
    return Promise.resolve();
  }

  /** Reads what an account has due, as far as there are slots. */
  look(account: string): void {
    this.slots.offer(account, LOOK, () => this.pollNext(account));
  }

  private async pollNext(account: string): Promise<void> {
    const contactId = await this.claimNext(account);
    if (contactId === undefined) return;
    this.look(account);
    await this.poll(account, contactId);
  }

  private async claimNext(account: string): Promise<string | undefined> {
    try {
      const { requestsPerSecond = 1, polling = false } = (await this.accounts.find(account)) ?? {};
      const most = Math.ceil(requestsPerSecond * SECONDS_UNDER_WAY);
      if (!polling || this.slots.runningOf(account) > most) return undefined;
      // While upstream is away polls would only fail; who is due stays due.
      if (this.slots.isClosed || (await this.upstream.isHeld(account))) return undefined;
      return (await this.store.claimDue(account, 1, POLL_LEASE_MS))[0];
    } catch (error) {
      if (!(error instanceof AccountGoneError))
        this.logger.warn({ account, err: error }, 'no contact could be taken up; the next round tries again');
      return undefined;
    }
  }

  private async poll(account: string, contactId: string): Promise<void> {
    const renewal = setInterval(() => void this.putOff(account, contactId, POLL_LEASE_MS), POLL_LEASE_MS / 3);
    try {
      await this.contacts.poll(account, contactId);
    } catch (error) {
      clearInterval(renewal);
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
