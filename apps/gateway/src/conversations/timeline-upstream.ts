import type { AccountDirectory } from '#accounts';
import {
  MessagesUnavailableError,
  type MessagePages,
  type MessagesPage,
  type RemainingBudgetWait,
} from '#conversations';
import {
  type BudgetedUpstream,
  BudgetExhaustedError,
  isMissingPageError,
  type RequestRateLimiter,
  UpstreamError,
  type UpstreamMessage,
  UpstreamReplyTooLargeError,
  UpstreamStatusError,
} from '#upstream';
import type { TimelineMessage } from '#conversations';

/** Timelines together use at most this part of an account's budget of upstream requests. */
const SHARE_OF_BUDGET = 1 / 5;

/** Reads the pages of timelines within the share of the budget that timelines may use. */
export class TimelineUpstream implements MessagePages {
  constructor(
    private readonly upstream: Pick<BudgetedUpstream, 'listMessages'>,
    private readonly accounts: AccountDirectory,
    private readonly limiter: RequestRateLimiter,
  ) {}

  async read(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    remainingWait: RemainingBudgetWait,
  ): Promise<MessagesPage> {
    try {
      await this.waitForLimiter(account, remainingWait);
      const { items, skipped } = await this.upstream.listMessages(account, contactId, page, limit, 'read');
      return { items: items.map(toTimelineMessage), count: items.length + skipped };
    } catch (error) {
      // The page is after the last one. If the contact does not exist any more, the next read of page 1 fails.
      if (page > 1 && isMissingPageError(error)) return { items: [], count: 0 };
      if (!(error instanceof UpstreamError || error instanceof BudgetExhaustedError)) throw error;
      throw new MessagesUnavailableError(mayBeCausedBySize(error), { cause: error });
    }
  }

  private async waitForLimiter(account: string, remainingWait: RemainingBudgetWait): Promise<void> {
    const found = await this.accounts.find(account);
    // The account was removed meanwhile. The read fails with the reason.
    if (found === undefined) return;
    const rate = found.requestsPerSecond * SHARE_OF_BUDGET;
    remainingWait.leftMs -= await this.limiter.acquire(account, rate, remainingWait.leftMs);
  }
}

export function toTimelineMessage({ id, timestamp, raw }: UpstreamMessage): TimelineMessage {
  return { id, raw, ...(timestamp === undefined ? {} : { timestamp }) };
}

function mayBeCausedBySize(error: Error): boolean {
  return (
    error instanceof UpstreamReplyTooLargeError ||
    (error instanceof UpstreamStatusError && error.status >= 500)
  );
}
