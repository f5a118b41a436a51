import { BudgetExhaustedError, UpstreamError, UpstreamUnavailableError } from '#upstream';
import type { Lookup, LookUpOptions } from '../ports.js';
import { confirmationPeriodMs, type RelaySettings } from '../send/relay-settings.js';
import type { LaneHead, RelayStore, StateChange } from '../send/relay-store.js';
import { type SendRecord, type SendState, lastingFields } from '../send/send-record.js';

/** Waits between two search steps, in milliseconds; the last entry repeats. */
const SEARCH_BACKOFF_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000] as const;

/** Maximum wait of a lane whose account is held, in milliseconds. The end of the outage wakes the lane earlier. */
export const MAX_HELD_ACCOUNT_WAIT_MS = 15_000;

/**
 * Maximum age of the contact list for a final search step, in milliseconds: the list shows every contact of the number.
 */
export const MAX_LIST_AGE_MS = 60_000;

/** The result of one search step. `held`: no request was made, because the account's requests are held. */
type StepResult = { outcome: 'complete' | 'partial' | 'held' } | { outcome: 'failed'; reason: string };

/** Searches the recipient's messages for a send that upstream may or may not have accepted. */
export class SendSearch {
  constructor(
    private readonly store: RelayStore,
    private readonly lookup: Lookup,
    private readonly settings: RelaySettings,
  ) {}

  /**
   * Returns the change that starts the search.
   * @param reason why the outcome of the POST is unknown
   */
  begin(
    transition: 'ambiguous' | 'abandoned',
    record: SendRecord,
    now: number,
    reason: string | undefined,
  ): StateChange {
    return this.startSearch(
      transition,
      record,
      now,
      confirmationPeriodMs(record.order, this.settings),
      reason === undefined ? {} : { reason },
    );
  }

  /**
   * Returns the change that starts a recheck: a search for a POST that Redis may have lost, or before a resend. If the
   * confirmation period has passed since the Redis restart, one complete search step is enough. The send is posted if
   * no message is found.
   */
  recheck({ record, now, redisRestartedAt }: LaneHead): StateChange {
    const leftMs =
      redisRestartedAt === undefined
        ? 0
        : Math.max(confirmationPeriodMs(record.order, this.settings) - (now - redisRestartedAt), 0);
    return this.startSearch('recheck_started', record, now, leftMs, { thenPost: true });
  }

  private startSearch(
    transition: 'ambiguous' | 'abandoned' | 'recheck_started',
    { state }: SendRecord,
    now: number,
    lookLeftMs: number,
    extra: Pick<SendState, 'reason' | 'thenPost'>,
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
        ...extra,
      },
      laneDueInMs: waitMs,
      redisRun: 'update',
    };
  }

  /**
   * Runs one search step. A send that is found is bound to its message, and leaves its lane. Returns the wait before
   * the next step, in milliseconds.
   *
   * The time left counts down only while steps succeed, and ends with a complete step. The maximum age of a send ends
   * the search in any case.
   */
  async runStep(account: string, { record, now }: LaneHead): Promise<number> {
    const { state } = record;
    const since = state.lookSince ?? now;
    // The time between a failed step and the next successful one does not count.
    const passedMs = Math.max(now - (state.lookedAt ?? now), 0);
    const leftMs = state.lookLeftMs ?? 0;
    const isFinalStep = passedMs >= leftMs;
    const step = await this.lookUp(
      account,
      record.order.phoneNumber,
      isFinalStep ? { minListReadAt: Math.max(since, now - MAX_LIST_AGE_MS) } : {},
    );
    const { outcome } = step;
    const lookLeftMs = outcome === 'complete' ? leftMs - passedMs : leftMs;
    const isTimedOut = now - since >= this.settings.maxAgeMs;
    if (outcome === 'complete' && lookLeftMs <= 0) {
      await this.store.apply(account, record, this.endOfSearch(record));
      return 0;
    }
    if (isTimedOut) {
      await this.store.apply(account, record, {
        transition: 'marked_unknown',
        state: { ...lastingFields(state), reason: searchTimeoutReason(step) },
      });
      return 0;
    }
    // The backoff starts again when failures follow successes, or successes follow failures.
    const isSameResult = (outcome === 'failed') === (state.lookedAt === undefined);
    const looks = isSameResult ? (state.looks ?? 0) + 1 : 0;
    const backoffMs = SEARCH_BACKOFF_MS[Math.min(looks, SEARCH_BACKOFF_MS.length - 1)] ?? 0;
    // The final step starts when the time left is over. The length of an outage cannot be predicted that way.
    const waitMs =
      outcome === 'complete' ? Math.min(backoffMs, Math.max(lookLeftMs, SEARCH_BACKOFF_MS[0])) : backoffMs;
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
    const laneDueInMs = outcome === 'held' ? MAX_HELD_ACCOUNT_WAIT_MS : waitMs;
    const waiting = await this.store.apply(account, record, {
      transition: 'search_continued',
      state: { ...next, ...held },
      laneDueInMs,
    });
    // The search step itself bound the send to its message. The lane continues at once.
    return waiting === undefined ? 0 : laneDueInMs;
  }

  private async lookUp(account: string, phoneNumber: string, options: LookUpOptions): Promise<StepResult> {
    try {
      const isComplete = await this.lookup.lookUp(account, phoneNumber, options);
      return { outcome: isComplete ? 'complete' : 'partial' };
    } catch (error) {
      if (error instanceof UpstreamUnavailableError) return { outcome: 'held' };
      if (error instanceof UpstreamError || error instanceof BudgetExhaustedError)
        return { outcome: 'failed', reason: error.message };
      throw error;
    }
  }

  private endOfSearch({ state }: SendRecord): StateChange {
    const { reason, thenPost } = state;
    if (thenPost === true) return { transition: 'recheck_passed', state: lastingFields(state) };
    // An operator may prefer a second text. A third POST is never made automatically.
    if (this.settings.onUnknown === 'resend' && (state.copies ?? 0) < 2)
      return { transition: 'resent_automatically', state: lastingFields(state) };
    return {
      transition: 'marked_unknown',
      state: { ...lastingFields(state), ...(reason === undefined ? {} : { reason }) },
    };
  }
}

/** Returns the reason of a send whose search exceeded the maximum age. */
function searchTimeoutReason(step: StepResult): string {
  const last = step.outcome === 'failed' ? ` The last search failed: ${step.reason}.` : '';
  return `The recipient's messages could not be read within SEND_MAX_AGE_SECONDS.${last}`;
}
