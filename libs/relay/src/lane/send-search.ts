import { BudgetExhaustedError, UpstreamError, UpstreamUnavailableError } from '#upstream';
import type { Lookup, LookOptions } from '../ports.js';
import { confirmationPeriodMs, type RelaySettings } from '../send/relay-settings.js';
import type { LaneHead, RelayStore, StateChange } from '../send/relay-store.js';
import { type SendRecord, type SendState, lastingFields } from '../send/send-record.js';

/** Waits between looks at a recipient's messages, in milliseconds; the last one from then on. */
const SEARCH_BACKOFF_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000] as const;

/** A lane whose account is held looks again after so long at the latest; when the outage is over it is woken. */
export const HELD_WAIT_MS = 15_000;

/** A look that decides sees all contacts of the number that a list of so long ago, in milliseconds, did not miss. */
export const MAX_LIST_AGE_MS = 60_000;

/** What came of one look; `held`: nobody looked, for upstream is not asked now. */
type Look = { outcome: 'complete' | 'in part' | 'held' } | { outcome: 'failed'; reason: string };

/** Looks for a send that upstream may or may not have taken, among the messages of its recipient. */
export class SendSearch {
  constructor(
    private readonly store: RelayStore,
    private readonly lookup: Lookup,
    private readonly settings: RelaySettings,
  ) {}

  /** The step with which the search begins. @param reason why nobody knows what became of the POST */
  begin(
    transition: 'ambiguous' | 'abandoned',
    record: SendRecord,
    now: number,
    reason: string | undefined,
  ): StateChange {
    return this.lookFor(
      transition,
      record,
      now,
      confirmationPeriodMs(record.order, this.settings),
      reason === undefined ? {} : { reason },
    );
  }

  /**
   * The step with which a send is looked for that may have been posted before Redis lost its last seconds. When enough
   * time has gone by since, one complete look is enough, as it is for one that is told to go out again; a send that is
   * not found is then posted.
   */
  doubt({ record, now, redisRestartedAt }: LaneHead): StateChange {
    const leftMs =
      redisRestartedAt === undefined
        ? 0
        : Math.max(confirmationPeriodMs(record.order, this.settings) - (now - redisRestartedAt), 0);
    return this.lookFor('recheck_started', record, now, leftMs, { thenPost: true });
  }

  private lookFor(
    transition: 'ambiguous' | 'abandoned' | 'recheck_started',
    { state }: SendRecord,
    now: number,
    lookLeftMs: number,
    more: Pick<SendState, 'reason' | 'thenPost'>,
  ): StateChange {
    const waitMs = SEARCH_BACKOFF_MS[0];
    return {
      transition,
      state: {
        ...lastingFields(state),
        phase: 'looking',
        lookLeftMs,
        lookedAt: now,
        looks: 0,
        lookSince: now,
        notBefore: now + waitMs,
        ...more,
      },
      laneDueInMs: waitMs,
      redisRun: 'update',
    };
  }

  /**
   * Looks once; a send that is found is bound on the way, and leaves its lane. How long to wait before the next look,
   * in milliseconds. The time that is left counts down only while looks succeed, and it ends with a complete one; but
   * whatever fails, a send is not looked for any longer than it may be relayed.
   */
  async look(account: string, { record, now }: LaneHead): Promise<number> {
    const { state } = record;
    const since = state.lookSince ?? now;
    // What passes from a look that failed to the next good one does not count.
    const seenMs = Math.max(now - (state.lookedAt ?? now), 0);
    const leftMs = state.lookLeftMs ?? 0;
    const decides = seenMs >= leftMs;
    const look = await this.lookUp(
      account,
      record.order.phoneNumber,
      decides ? { listSince: Math.max(since, now - MAX_LIST_AGE_MS) } : {},
    );
    const { outcome } = look;
    const lookLeftMs = outcome === 'complete' ? leftMs - seenMs : leftMs;
    const isOver = now - since >= this.settings.maxAgeMs;
    if (outcome === 'complete' && lookLeftMs <= 0) {
      await this.store.apply(account, record, this.end(record));
      return 0;
    }
    if (isOver) {
      await this.store.apply(account, record, {
        transition: 'marked_unknown',
        state: { ...lastingFields(state), reason: searchTimeoutReason(look) },
      });
      return 0;
    }
    // A failure among successes, or the other way round, says little of the next look: the waits begin anew.
    const isAsBefore = (outcome === 'failed') === (state.lookedAt === undefined);
    const looks = isAsBefore ? (state.looks ?? 0) + 1 : 0;
    const growingMs = SEARCH_BACKOFF_MS[Math.min(looks, SEARCH_BACKOFF_MS.length - 1)] ?? 0;
    // The look that ends the time comes when it is over; how long a trouble lasts is not known so.
    const waitMs =
      outcome === 'complete' ? Math.min(growingMs, Math.max(lookLeftMs, SEARCH_BACKOFF_MS[0])) : growingMs;
    const next: SendState = {
      ...state,
      lookSince: since,
      lookLeftMs,
      lookedAt: now,
      looks,
      notBefore: now + waitMs,
    };
    if (outcome === 'failed' || outcome === 'held') delete next.lookedAt;
    const held = outcome === 'held' ? { looks: state.looks ?? 0, notBefore: now } : {};
    const laneDueInMs = outcome === 'held' ? HELD_WAIT_MS : waitMs;
    const waiting = await this.store.apply(account, record, {
      transition: 'search_continued',
      state: { ...next, ...held },
      laneDueInMs,
    });
    // Bound by the look itself: the lane goes on at once.
    return waiting === undefined ? 0 : laneDueInMs;
  }

  private async lookUp(account: string, phoneNumber: string, options: LookOptions): Promise<Look> {
    try {
      const isComplete = await this.lookup.lookUp(account, phoneNumber, options);
      return { outcome: isComplete ? 'complete' : 'in part' };
    } catch (error) {
      if (error instanceof UpstreamUnavailableError) return { outcome: 'held' };
      if (error instanceof UpstreamError || error instanceof BudgetExhaustedError)
        return { outcome: 'failed', reason: error.message };
      throw error;
    }
  }

  private end({ state }: SendRecord): StateChange {
    const { reason, thenPost } = state;
    if (thenPost === true) return { transition: 'recheck_passed', state: lastingFields(state) };
    // A second text may be what the operator prefers; a third never is.
    if (this.settings.onUnknown === 'resend' && (state.copies ?? 0) < 2)
      return { transition: 'resent_automatically', state: lastingFields(state) };
    return {
      transition: 'marked_unknown',
      state: { ...lastingFields(state), ...(reason === undefined ? {} : { reason }) },
    };
  }
}

/** Why a send that may have been taken is not looked for any more. */
function searchTimeoutReason(look: Look): string {
  const last = look.outcome === 'failed' ? ` The last look failed: ${look.reason}.` : '';
  return `Its recipient's messages could not be read within SEND_MAX_AGE_SECONDS.${last}`;
}
