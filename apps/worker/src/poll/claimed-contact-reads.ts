import { AccountNotFoundError } from '#accounts';
import type { ClaimedRead, ClaimReply, NextDueTime, PollOutcome, PollQueue } from '#feed';
import { type Logger, logMessageOf } from '#platform';
import {
  type AdaptiveBudget,
  BudgetExhaustedError,
  UpstreamError,
  UpstreamStatusError,
  UpstreamUnavailableError,
} from '#upstream';
import type { ClaimedContactReader } from './poll-ports.js';
import type { RunningReads } from './running-reads.js';

/** The reply to a successful claim: a contact, together with a token of the budget. */
type Claim = Extract<ClaimReply, { claimed: unknown }>;

/** Dependencies of the reads. */
export interface ClaimedReadParts {
  queue: Pick<PollQueue, 'end'>;
  contacts: ClaimedContactReader;
  budget: Pick<AdaptiveBudget, 'returnToken'>;
  logger: Logger;
}

/** Reads claimed contacts, and ends their claims. */
export class ClaimedContactReads {
  /** @param stopping aborts when the worker stops: a contact that was claimed meanwhile is not read */
  constructor(
    private readonly parts: ClaimedReadParts,
    private readonly running: Pick<RunningReads, 'start'>,
    private readonly stopping: AbortSignal,
  ) {}

  /**
   * Starts the read of a claimed contact. Resolves when the read and its claim have ended and the slot of the read is
   * free. The result is the time at which the next contact of the account is due, if known.
   * @param rate budget of the account, in requests per second
   */
  start(
    account: string,
    rate: number,
    { claimed, tokenRequestedAt, availableForPolls }: Claim,
  ): Promise<NextDueTime> {
    const { kind, lease, isUpstreamAvailable, state } = claimed;
    const ending = new AbortController();
    const read: ClaimedRead = {
      ...{ kind, availableForPolls, tokenRequestedAt, signal: ending.signal },
      ...{ lease, isLeaseRenewed: true, isUpstreamAvailable },
      ...(state === undefined ? {} : { state }),
    };
    return this.running.start({ account, claim: claimed, read, ending }, async (): Promise<NextDueTime> => {
      try {
        const how = await this.read(account, claimed.contactId, read);
        if (read.tokenRequestedAt !== undefined) await this.parts.budget.returnToken(account, rate);
        if (read.ended !== undefined) return read.ended;
        read.isLeaseRenewed = false;
        if (how !== undefined) return await this.parts.queue.end(account, claimed, how);
      } catch (error) {
        // The lease of the claim will expire.
        this.parts.logger.warn(
          { account, contactId: claimed.contactId, err: error },
          'could not store that a poll ended; the contact is polled again when its lease expires',
        );
      }
      return {};
    });
  }

  /** Reads a contact. Returns how the read ended, or undefined if the account was removed. */
  private async read(
    account: string,
    contactId: string,
    read: ClaimedRead,
  ): Promise<PollOutcome | undefined> {
    // The worker may have begun to stop while the contact was claimed.
    if (this.stopping.aborted) return 'aborted';
    try {
      const { contacts } = this.parts;
      if (read.kind === 'head') {
        if (await contacts.pollNewMessages(account, contactId, read)) return 'done';
        return read.signal.aborted ? 'aborted' : 'postponed';
      }
      return (await contacts.runDeepRead(account, contactId, read, read.signal)) ? 'done' : 'aborted';
    } catch (error) {
      if (error instanceof AccountNotFoundError) return undefined;
      if (error instanceof BudgetExhaustedError) return 'aborted';
      const { logger } = this.parts;
      if (error instanceof UpstreamError)
        logger.warn({ account, contactId, reason: logMessageOf(error) }, 'could not poll a contact');
      else
        logger.error(
          { account, contactId, err: error },
          'an unexpected error occurred while a contact was polled',
        );
      return isAboutAccount(error) ? 'postponed' : 'failed';
    }
  }
}

/** Returns true if an error concerns the account as a whole, not the contact. */
function isAboutAccount(error: unknown): boolean {
  return (
    error instanceof UpstreamUnavailableError ||
    (error instanceof UpstreamStatusError && [401, 429].includes(error.status))
  );
}
