import { BlobMissingError, type BlobStoreUnavailableError } from '#blobs';
import { type Logger, logMessageOf, pause, type TimeLimit } from '#platform';
import { logAttempt } from './attempt-log.js';
import { type AttemptResult, mayBeCausedByOutage, retryWaitMs } from './attempt-outcome.js';
import type { Lookup, Sender } from '../ports.js';
import type { RelaySettings } from '../send/relay-settings.js';
import type { RelayStore, StateChange } from '../send/relay-store.js';
import { InvalidTransitionError } from '../send/send-transitions.js';
import {
  type SendProgress,
  type SendRecord,
  fieldsKeptAcrossTransitions,
  appendAttempt,
  MAX_STORED_ATTEMPTS_PER_SEND,
} from '../send/send-record.js';
import type { FencedSend } from './fenced-send.js';
import { MAX_LANE_WAIT_IN_OUTAGE_MS, type SendLookupRunner } from './send-lookup-runner.js';
import type { SendAttempt } from '../send/send.js';

/**
 * Wait before the first retry to store the outcome of a POST in Redis, in milliseconds. The wait doubles with each
 * retry, up to {@link MAX_RECORD_RETRY_MS}.
 */
const RECORD_RETRY_MS = 250;
const MAX_RECORD_RETRY_MS = 2_000;
/** Time from a successful POST to the first check for its message, in milliseconds. */
const FIRST_CONFIRM_MS = 1_000;

/** Records the outcome of a POST, or that a send was not posted although it was marked as `relaying`. */
export class PostOutcomeRecorder {
  constructor(
    private readonly store: RelayStore,
    private readonly sender: Pick<Sender, 'isHeld'>,
    private readonly lookup: Lookup,
    private readonly lookups: SendLookupRunner,
    private readonly settings: RelaySettings,
    private readonly logger: Logger,
    private readonly random: () => number,
  ) {}

  /**
   * Logs and records the result of a POST. Returns the wait before the lane's next step, in milliseconds; undefined
   * if upstream accepted the last send of the lane.
   */
  async record(account: string, fenced: FencedSend, result: AttemptResult): Promise<number | undefined> {
    const isHeld = await this.untilRecorded(
      fenced.untilDecided,
      async () => mayBeCausedByOutage(result) && (await this.sender.isHeld(account)),
    );
    return this.logAndStore(account, fenced, result, isHeld);
  }

  /**
   * Logs and records that the file of a send could not be read, so that nothing was posted. Returns the wait before
   * the lane's next step, in milliseconds.
   */
  async recordUnavailableFile(
    account: string,
    fenced: FencedSend,
    error: BlobMissingError | BlobStoreUnavailableError,
  ): Promise<number | undefined> {
    const outcome = error instanceof BlobMissingError ? 'refused' : 'not_taken';
    const result = { outcome, error: error.message, fault: logMessageOf(error) } as const;
    return this.logAndStore(account, fenced, result, false);
  }

  /**
   * Requeues a send that was marked as `relaying` but certainly not posted: its status becomes `queued` again. If
   * another worker has already begun a look-up of the send, requeueing the send ends the look-up. Returns the wait
   * before the lane's next step, in milliseconds.
   * @param limit limit for retries while Redis fails
   * @param waitMs the wait to return; 0 is returned instead if the send has changed otherwise than by the start of a
   * look-up
   */
  async requeueUnposted(
    account: string,
    record: SendRecord,
    limit: TimeLimit,
    waitMs: number,
  ): Promise<number> {
    return this.untilRecorded(limit, () => this.requeue(account, record, waitMs));
  }

  /**
   * Runs a step that is needed to store the outcome of a POST. If Redis fails, tries again until the limit, because
   * only this process knows the outcome. If the outcome is not stored, another worker must look up the send.
   */
  async untilRecorded<T>(limit: TimeLimit, step: () => Promise<T>): Promise<T> {
    for (let waitMs = RECORD_RETRY_MS; ; waitMs = Math.min(waitMs * 2, MAX_RECORD_RETRY_MS)) {
      try {
        return await step();
      } catch (error) {
        if (limit.isOver() || error instanceof InvalidTransitionError) throw error;
        if (waitMs === RECORD_RETRY_MS)
          this.logger.warn(
            { err: error },
            'Redis failed while the outcome of a POST was being stored; storing the outcome is retried',
          );
        await pause(waitMs);
      }
    }
  }

  private async requeue(account: string, record: SendRecord, waitMs: number): Promise<number> {
    let current: SendRecord | undefined = record;
    while (current !== undefined) {
      const state = fieldsKeptAcrossTransitions(current.state);
      if ((await this.store.apply(account, current, { transition: 'requeued', state })) !== undefined)
        return waitMs;
      const stored = await this.store.find(account, record.order.id);
      current = stored !== undefined && isLookedUp(stored, record) ? stored : undefined;
    }
    return 0;
  }

  private async logAndStore(
    account: string,
    fenced: FencedSend,
    result: AttemptResult,
    isHeld: boolean,
  ): Promise<number | undefined> {
    const { record, untilDecided } = fenced;
    logAttempt(this.logger, account, fenced, result, isHeld);
    return this.untilRecorded(untilDecided, () =>
      isHeld ? this.hold(account, record, result) : this.finish(account, record, result),
    );
  }

  /**
   * Records an attempt that failed because of an outage. The send waits for the end of the outage. The attempt does
   * not count as a step of the send's retry schedule.
   */
  private async hold(account: string, record: SendRecord, result: AttemptResult): Promise<number> {
    const attempt = attemptOf(record, { ...result, outcome: 'not_taken' });
    const attempts = appendAttempt(record.state.attempts, attempt);
    await this.recordOutcome(account, record, {
      transition: 'not_taken',
      state: { ...fieldsKeptAcrossTransitions(record.state), attempts },
    });
    return MAX_LANE_WAIT_IN_OUTAGE_MS;
  }

  /**
   * Records an attempt that did not fail because of an outage. Returns the wait before the lane's next step, in
   * milliseconds; undefined if upstream accepted the last send of the lane.
   */
  private async finish(
    account: string,
    record: SendRecord,
    result: AttemptResult,
  ): Promise<number | undefined> {
    const { outcome, error, retryAfterMs } = result;
    const attempts = appendAttempt(record.state.attempts, attemptOf(record, result));
    const state: SendProgress = { ...fieldsKeptAcrossTransitions(record.state), attempts };
    switch (outcome) {
      case 'accepted':
        return this.recordAcceptance(account, record, state);
      case 'refused':
        await this.recordOutcome(account, record, {
          transition: 'refused',
          state: { ...state, ...(error === undefined ? {} : { reason: error }) },
        });
        return 0;
      case 'not_taken': {
        const { retryScheduleSeconds } = this.settings;
        const waitMs = retryWaitMs(retryScheduleSeconds, state.refusals, retryAfterMs, this.random());
        const notBefore = (await this.store.now(account)) + waitMs;
        await this.recordOutcome(account, record, {
          transition: 'not_taken',
          state: { ...state, refusals: state.refusals + 1, notBefore },
        });
        return waitMs;
      }
      case 'ambiguous': {
        const now = await this.store.now(account);
        const attempted = { ...record, state: { ...record.state, ...state } };
        await this.recordOutcome(account, record, this.lookups.begin('ambiguous', attempted, now, error));
        return 0;
      }
    }
  }

  private async recordAcceptance(
    account: string,
    record: SendRecord,
    state: SendProgress,
  ): Promise<number | undefined> {
    const isLaneEmpty = await this.recordOutcome(account, record, {
      transition: 'accepted',
      state,
      confirmInMs: FIRST_CONFIRM_MS,
    });
    // Request an earlier poll of the recipient in the background. The lane does not wait for the result.
    void this.expeditePoll(account, record.order.phoneNumber);
    return isLaneEmpty ? undefined : 0;
  }

  private async expeditePoll(account: string, phoneNumber: string): Promise<void> {
    try {
      await this.lookup.expeditePoll(account, phoneNumber);
    } catch (error) {
      // If the request for an earlier poll fails, no harm is done: the next check of the accepted send makes the
      // request again or reads the recipient's messages.
      this.logger.debug(
        { account, err: error },
        'could not request an earlier poll of the recipient of an accepted send',
      );
    }
  }

  /**
   * Stores the outcome of an attempt. If the send no longer exists, nothing is stored. If the send changed during the
   * attempt, there are three cases:
   * - Another worker has only begun a look-up of the send: the outcome is stored, because a reply is more certain
   *   than a look-up. If the outcome is `ambiguous`, only the attempt is recorded.
   * - Redis lost the record of this POST, and upstream accepted or may have accepted the POST: the lost record is
   *   stored again first, so that the POST is not repeated.
   * - The send changed in another way, for example because its message was found: only the attempt is recorded.
   * @returns true if the send left its lane and the lane is then empty
   */
  private async recordOutcome(account: string, record: SendRecord, change: StateChange): Promise<boolean> {
    let current = record;
    for (;;) {
      const next = await this.store.apply(account, current, change);
      if (next !== undefined) return next.isLaneEmpty === true;
      const moved = await this.store.find(account, record.order.id);
      if (moved === undefined) return false;
      if (isFenceLost(moved, record) && ['accepted', 'ambiguous'].includes(change.transition)) {
        const fence = { transition: 'fence_restored', state: record.state, redisRun: 'update' } as const;
        current = (await this.store.apply(account, moved, fence)) ?? record;
        continue;
      }
      if (!isLookedUp(moved, record) || change.transition === 'ambiguous') {
        await this.store.apply(account, moved, {
          transition: 'attempt_recorded',
          state: { ...moved.state, attempts: mergeAttempts(moved.state.attempts, change.state.attempts) },
        });
        return false;
      }
      current = moved;
    }
  }
}

/**
 * True if the only change of the send since its POST is that another worker has begun to look it up. Look-ups with
 * `thenPost` do not count, because they start only after the send was queued again.
 */
function isLookedUp({ state }: SendRecord, posted: SendRecord): boolean {
  return state.phase === 'looking' && state.thenPost !== true && state.begunAt === posted.state.begunAt;
}

/**
 * True if Redis lost the record of the last POST: the stored send contains no POST or only earlier POSTs, and is
 * scheduled, queued or being looked up.
 * @param posted the send as it was at the last POST
 */
function isFenceLost({ state }: SendRecord, posted: SendRecord): boolean {
  const isWaiting = ['scheduled', 'queued'].includes(state.status) || state.phase === 'looking';
  return isWaiting && (state.begunAt ?? 0) < (posted.state.begunAt ?? 0);
}

/**
 * Returns the stored attempts together with the newest attempt of `own`, in the order in which they began. Other
 * attempts may have been stored since `own` was read. Returns at most {@link MAX_STORED_ATTEMPTS_PER_SEND} attempts,
 * the newest ones.
 */
function mergeAttempts(stored: readonly SendAttempt[], own: readonly SendAttempt[]): SendAttempt[] {
  const newest = own.slice(-1);
  const others = stored.filter(({ at }) => newest[0]?.at !== at);
  return [...others.slice(1 - MAX_STORED_ATTEMPTS_PER_SEND), ...newest].sort((a, b) =>
    a.at < b.at ? -1 : 1,
  );
}

function attemptOf({ state, order }: SendRecord, { outcome, httpStatus, error }: AttemptResult): SendAttempt {
  return {
    at: new Date(state.begunAt ?? order.createdAt).toISOString(),
    outcome,
    ...(httpStatus === undefined ? {} : { httpStatus }),
    ...(error === undefined ? {} : { error }),
  };
}
