import type { Arrival } from '../delay/poll-report.js';
import type { FeedSettings } from './feed-settings.js';
import type { FeedStore } from '../feed-store.js';
import type { PollCommit } from './poll-commit.js';
import { doesFirstPageShowNewestMessages } from '../walk/page-order.js';
import type { PollState } from '../snapshot/poll-state.js';
import { PollIntervalPlanner } from '../schedule/poll-interval-planner.js';
import type { CommitKind, PollStart } from './poll-start.js';
import { msUntilNextFlagCheck } from './poll-state-after-read.js';
import { isSweepDue } from './sweep.js';
import type { PagesRead } from '../walk/pages-read.js';
import { packMessageRate, unpackMessageRate } from '../schedule/rate-codec.js';
import { messageRateBucketIndexOf } from '../schedule/rate-histogram.js';
import { expectedMessageRate, messageRateStateAfterRead } from '../schedule/rate.js';

/**
 * Time from the commit of the newest messages until another worker may read the contact's older messages, in
 * milliseconds. Used if the committing worker itself reads the older messages right afterwards: another worker takes
 * over only if the committing worker fails.
 */
const DEEP_READ_TAKEOVER_MS = 30_000;

/** When the newest messages of a contact are read next, as parts of the {@link PollCommit}. */
export interface NextHeadRead {
  extension: { rate: Buffer };
  bucket: number;
  dueInMs: number;
}

/** Determines when a contact is read next. */
export class NextReadPlanner {
  private readonly planner: PollIntervalPlanner;

  constructor(
    store: Pick<FeedStore, 'contactRates'>,
    private readonly settings: Pick<FeedSettings, 'interval' | 'readsPerSecond' | 'sweepMs'>,
  ) {
    const { min: minMs, max: maxMs } = settings.interval;
    this.planner = new PollIntervalPlanner((account) => store.contactRates(account), { minMs, maxMs });
  }

  /**
   * Returns when the newest messages of the contact are read next. The interval depends mainly on how often the
   * contact has new messages.
   */
  async ofNewestMessages(
    { account, state, requestsPerSecond }: PollStart,
    upstreamAheadMs: number,
    pollState: PollState,
    arrivals: readonly Arrival[],
  ): Promise<NextHeadRead> {
    const { now, extension } = state;
    const before = extension.rate === undefined ? undefined : unpackMessageRate(extension.rate);
    const rate = messageRateStateAfterRead(before, {
      arrivals: arrivals.length,
      at: now,
      ...(extension.readAt === undefined ? {} : { since: extension.readAt }),
      times: arrivals.flatMap(({ timestamp }) =>
        timestamp === undefined ? [] : timestamp - upstreamAheadMs,
      ),
    });
    const perSecond = expectedMessageRate(rate, now);
    const budget = requestsPerSecond ?? (await this.settings.readsPerSecond(account));
    const plan = await this.planner.planOf(account, budget, state.contacts);
    // If a flag check is due earlier, the contact is polled at the time of that check.
    const intervalMs = Math.min(plan.intervalMs(perSecond), msUntilNextFlagCheck(pollState, now));
    return {
      extension: { rate: packMessageRate(rate) },
      bucket: messageRateBucketIndexOf(perSecond),
      dueInMs: Math.max(intervalMs, this.settings.interval.min),
    };
  }

  /**
   * Returns when older messages of the contact are read next: in `inMs` milliseconds, or as scheduled before
   * (`unchanged`). `over`: no such read is needed for now. See {@link PollCommit.deep}.
   */
  ofOlderMessages(
    { state, resync }: PollStart,
    { unsettledRead, needsFullRead, order }: PagesRead,
    pollState: PollState,
    kind: CommitKind,
  ): PollCommit['deep'] {
    const { completeDueAt, flagCheckDueAt } = pollState;
    if (kind === 'end') {
      return completeDueAt === undefined
        ? 'over'
        : { inMs: Math.max(completeDueAt - state.now, 0), overwrites: true };
    }
    if (resync !== undefined) return { inMs: 0, overwrites: true };
    if (kind === 'page') return 'unchanged';
    const isDue =
      state.emitAfter !== undefined ||
      isSweepDue(pollState, state.extension, state.now, this.settings.sweepMs) ||
      (completeDueAt !== undefined && completeDueAt <= state.now) ||
      (!unsettledRead && flagCheckDueAt !== undefined && flagCheckDueAt <= state.now);
    if (!isDue) return 'unchanged';
    // If older pages may contain more new messages, this worker reads them right after the commit. Another
    // worker may read them only after `DEEP_READ_TAKEOVER_MS`, so it does so only if this worker fails.
    const continuesAtOnce =
      !doesFirstPageShowNewestMessages(order) && (needsFullRead || state.emitAfter !== undefined);
    return { inMs: continuesAtOnce ? DEEP_READ_TAKEOVER_MS : 0, overwrites: false };
  }
}
