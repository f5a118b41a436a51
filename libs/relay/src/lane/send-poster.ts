import {
  DeadlineError,
  type Logger,
  logMessageOf,
  pause,
  TimeLimit,
  traceIdLogField,
  uniqueString,
  withDeadline,
} from '#platform';
import {
  type BudgetTokenCheck,
  BudgetExhaustedError,
  type UpstreamSend,
  UpstreamRequestNotSentError,
  UpstreamUnavailableError,
} from '#upstream';
import { type AttemptResult, classifyPostError, retryWaitMs } from './attempt-outcome.js';
import { BlobMissingError, type BlobStore, BlobStoreUnavailableError } from '#blobs';
import type { Lookup, Sender } from '../ports.js';
import { confirmationPeriodMs, postRequestLeaseMs, type RelaySettings } from '../send/relay-settings.js';
import type { LaneHead } from '../send/lane-store.js';
import type { RelayStore, StateChange } from '../send/relay-store.js';
import { InvalidTransitionError } from '../send/send-transitions.js';
import {
  isAwaitingMessage,
  type SendProgress,
  type SendRecord,
  fieldsKeptAcrossTransitions,
  timeOfFirstPostWithoutBoundMessage,
  appendAttempt,
  MAX_ATTEMPTS,
} from '../send/send-record.js';
import { MAX_LANE_WAIT_IN_OUTAGE_MS, type SendLookupRunner } from './send-lookup-runner.js';
import type { AttemptOutcome, SendAttempt } from '../send/send.js';

/**
 * Maximum duration, in milliseconds, of each of two steps before a POST. First step: from reading the send to marking
 * it as `relaying`. Second step: from marking the send to starting the POST (opening a connection is part of the
 * POST). If a step lasts longer, the POST is not made, and the send is read again before the next try, because in the
 * meantime the send may have expired, or another worker may have begun a look-up of the send.
 */
export const MAX_FENCE_AGE_MS = 2_000;
/**
 * Wait before the first retry to store the outcome of a POST in Redis, in milliseconds. The wait doubles with each retry,
 * up to {@link MAX_RECORD_RETRY_MS}.
 */
const RECORD_RETRY_MS = 250;
const MAX_RECORD_RETRY_MS = 2_000;
/** Time from a successful POST to the first check for its message, in milliseconds. */
const FIRST_CONFIRM_MS = 1_000;

/** A send that is marked as being posted, and what its POST needs. */
interface FencedSend {
  record: SendRecord;
  /** When Redis was asked to set the send's status to `relaying`, as a value of `performance.now()`. */
  fencedAt: number;
  /** The POST must start before this limit. */
  untilPost: TimeLimit;
  /** Before this limit, other workers have at most begun to look the send up, so the outcome of the POST still counts. */
  untilDecided: TimeLimit;
  tokenCheck: BudgetTokenCheck;
}

/** For each outcome of an attempt: what the relay does next, as logged with the attempt. */
const DECISIONS: Readonly<Record<AttemptOutcome, string>> = {
  accepted: 'wait for the message',
  refused: 'fail',
  not_taken: 'retry',
  ambiguous: 'look up',
};

/**
 * Posts one send to upstream: first marks the send as `relaying` (the fence), then makes the POST and records its
 * outcome.
 */
export class SendPoster {
  private readonly leaseMs: number;

  constructor(
    private readonly store: RelayStore,
    private readonly sender: Sender,
    private readonly lookup: Lookup,
    private readonly blobs: BlobStore,
    private readonly lookups: SendLookupRunner,
    private readonly settings: RelaySettings,
    private readonly logger: Logger,
    private readonly random: () => number,
  ) {
    this.leaseMs = postRequestLeaseMs(settings);
  }

  /**
   * Posts the first send in a lane. Returns the wait before the lane's next step, in milliseconds; 0 means that the
   * next step can start at once. Returns undefined if the lane is empty.
   * @param head the lane's first send, as it was read when `untilFence` started
   * @param limits `address`: hash of the only upstream address that the send may be posted to. `untilFence`: the send
   *   must be marked as `relaying` before this limit, because the send may expire soon after it was read.
   */
  async post(
    account: string,
    head: LaneHead,
    { address, untilFence }: { address: string | undefined; untilFence: TimeLimit },
  ): Promise<number | undefined> {
    const fenced = await this.fence(account, head, untilFence);
    if ('waitMs' in fenced) return fenced.waitMs;
    const { record, untilPost, untilDecided, tokenCheck } = fenced;
    const request = await this.requestOf(record, untilPost);
    if (request instanceof Error) {
      const outcome = request instanceof BlobMissingError ? 'refused' : 'not_taken';
      const result: AttemptResult = { outcome, error: request.message, fault: logMessageOf(request) };
      this.logAttempt(account, fenced, result, DECISIONS[outcome]);
      return this.untilRecorded(untilDecided, () => this.finish(account, record, result));
    }
    const result = await this.attempt(account, request, untilPost, tokenCheck, address);
    if ('notSent' in result)
      return this.untilRecorded(untilDecided, () => this.requeueUnposted(account, record, result.waitMs));
    const isHeld = await this.untilRecorded(
      untilDecided,
      async () => mayHoldAccount(result) && (await this.sender.isHeld(account)),
    );
    this.logAttempt(account, fenced, result, isHeld ? 'hold' : DECISIONS[result.outcome]);
    return this.untilRecorded(untilDecided, () =>
      isHeld ? this.hold(account, record, result) : this.finish(account, record, result),
    );
  }

  /**
   * Runs a step that stores the outcome of a POST. If Redis fails, tries again until the limit, because only this process
   * knows the outcome. If the outcome is not stored, another worker must look up the send.
   */
  private async untilRecorded<T>(limit: TimeLimit, step: () => Promise<T>): Promise<T> {
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

  /** Logs one line for an attempt. The line contains neither the text of the send nor text from upstream's reply. */
  private logAttempt(
    account: string,
    { record: { order, state }, fencedAt }: FencedSend,
    { outcome, httpStatus, fault, retryAfterMs }: AttemptResult,
    decision: string,
  ): void {
    this.logger.info(
      {
        account,
        ...(order.requestId === undefined ? {} : { requestId: order.requestId }),
        ...traceIdLogField(order.trace),
        sendId: order.id,
        // Of a send with more attempts, the number is not stored.
        ...(state.attempts.length < MAX_ATTEMPTS ? { attempt: state.attempts.length + 1 } : {}),
        outcome,
        ...(httpStatus === undefined ? {} : { status: httpStatus }),
        ...(fault === undefined ? {} : { error: fault }),
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        durationMs: Math.round(performance.now() - fencedAt),
        decision,
      },
      'send.attempted',
    );
  }

  /**
   * Requeues a send that was marked as `relaying` but certainly not posted: its status becomes `queued` again. If
   * another worker has already begun a look-up of the send, requeueing the send ends the look-up.
   */
  private async requeueUnposted(account: string, record: SendRecord, waitMs: number): Promise<number> {
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

  /**
   * Records an attempt that failed because of an outage. The send waits for the end of the outage. The attempt does not
   * count as a step of the send's retry schedule.
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
   * Takes a token of the request budget and marks the send as being posted: usually in one atomic step, otherwise one
   * after the other. If the send cannot be marked now, or has changed since it was read, returns the wait before the
   * lane's next step.
   */
  private async fence(
    account: string,
    head: LaneHead,
    untilFence: TimeLimit,
  ): Promise<FencedSend | { waitMs: number }> {
    const requestsPerSecond = await this.sender.budgetOf(account);
    if (untilFence.isOver()) return { waitMs: 0 };
    const fencedAt = performance.now();
    const untilPost = new TimeLimit(MAX_FENCE_AGE_MS);
    const { record, now } = head;
    const { leaseMs } = this;
    const untilDecided = this.untilDecided(record);
    const state = this.fencedState(head, now + leaseMs);
    const result = await this.fenceOrUndo(account, record, untilDecided, (name) =>
      this.store.fence(account, record, { state, leaseMs, requestsPerSecond, name }),
    );
    if (result === 'undone' || result.kind === 'changed') return { waitMs: 0 };
    if (result.kind === 'unusual') return this.takeTokenAndFence(account, head);
    const tokenCheck = this.sender.budgetTokenCheckOf(account, fencedAt);
    return { record: result.record, fencedAt, untilPost, untilDecided, tokenCheck };
  }

  /** Waits for a token of the request budget, and then marks the send as being posted. */
  private async takeTokenAndFence(account: string, head: LaneHead): Promise<FencedSend | { waitMs: number }> {
    // Start a new time limit here, because the wait for a token may take almost as long as the limit. The caller's
    // limit started earlier. It could be over when the token arrives, and the token would then be lost.
    const untilFence = new TimeLimit(MAX_FENCE_AGE_MS);
    let tokenCheck: BudgetTokenCheck;
    try {
      tokenCheck = await this.sender.takeBudgetToken(account);
    } catch (error) {
      if (error instanceof BudgetExhaustedError) return { waitMs: error.retryAfterMs };
      if (error instanceof UpstreamUnavailableError) return { waitMs: MAX_LANE_WAIT_IN_OUTAGE_MS };
      throw error;
    }
    if (untilFence.isOver()) return { waitMs: 0 };
    const fencedAt = performance.now();
    const untilPost = new TimeLimit(MAX_FENCE_AGE_MS);
    const untilDecided = this.untilDecided(head.record);
    const record = await this.fenceOrUndo(account, head.record, untilDecided, (name) =>
      this.store.apply(account, head.record, {
        transition: 'fenced',
        state: this.fencedState(head, head.now + this.leaseMs),
        laneDueInMs: this.leaseMs,
        redisRun: 'mustMatch',
        name,
      }),
    );
    return record === undefined || record === 'undone'
      ? { waitMs: 0 }
      : { record, fencedAt, untilPost, untilDecided, tokenCheck };
  }

  /**
   * Marks a send as being posted. If Redis fails, it may have marked the send although its reply was lost. Then queues
   * the send again and returns `undone`, because only this process knows that the send was not posted: any other
   * process would look for its message for minutes, and then give it the status `unknown`.
   * @param mark marks the send, with the given unique id of the change
   * @throws the error of Redis if the send is not marked, or if Redis does not answer until the limit `untilDecided`
   */
  private async fenceOrUndo<T>(
    account: string,
    { order }: SendRecord,
    untilDecided: TimeLimit,
    mark: (name: string) => Promise<T>,
  ): Promise<T | 'undone'> {
    const name = uniqueString();
    try {
      return await mark(name);
    } catch (error) {
      if (error instanceof InvalidTransitionError) throw error;
      const stored = await this.untilRecorded(untilDecided, () => this.store.find(account, order.id));
      if (stored?.state.step !== name) throw error;
      await this.untilRecorded(untilDecided, () => this.requeueUnposted(account, stored, 0));
      return 'undone';
    }
  }

  /** Returns the limit of {@link FencedSend.untilDecided} for a POST that begins now. */
  private untilDecided({ order }: SendRecord): TimeLimit {
    return new TimeLimit(this.leaseMs + confirmationPeriodMs(order, this.settings));
  }

  /**
   * Returns the new state by which a send is marked as being posted.
   * @param leaseEnd end of the lease of the POST, in milliseconds since 1970 by Redis' clock
   */
  private fencedState({ record, now }: LaneHead, leaseEnd: number): SendProgress {
    return {
      ...fieldsKeptAcrossTransitions(record.state),
      ...(isAwaitingMessage(record.state)
        ? { firstBegunAt: timeOfFirstPostWithoutBoundMessage(record) }
        : {}),
      phase: 'posting',
      begunAt: now,
      notBefore: leaseEnd,
    };
  }

  /**
   * Returns the content of the POST, or an error that says why the send's file cannot be read.
   * @param untilPost limit for the start of the POST
   */
  private async requestOf(
    { order }: SendRecord,
    untilPost: TimeLimit,
  ): Promise<UpstreamSend | BlobMissingError | BlobStoreUnavailableError> {
    const { phoneNumber, type, message, fileUrl, extraFields, file } = order;
    const request: UpstreamSend = {
      phoneNumber,
      type,
      ...(message === undefined ? {} : { message }),
      ...(fileUrl === undefined ? {} : { fileUrl }),
      ...(extraFields === undefined ? {} : { extraFields }),
    };
    if (file === undefined) return request;
    const { blobId, name, contentType, size } = file;
    const opening = this.blobs.open(blobId);
    try {
      const content = await withDeadline(opening, MAX_FENCE_AGE_MS, 'opening the file');
      if (!untilPost.isOver()) return { ...request, file: { name, contentType, size, content } };
      content.destroy();
      return new BlobStoreUnavailableError('opening the file took too long');
    } catch (error) {
      if (error instanceof BlobMissingError || error instanceof BlobStoreUnavailableError) return error;
      if (!(error instanceof DeadlineError)) throw error;
      // The blob store may still open the file after the timeout. In that case, close the file at once.
      opening.then(
        (content) => content.destroy(),
        () => undefined,
      );
      return new BlobStoreUnavailableError('opening the file took too long');
    }
  }

  private async attempt(
    account: string,
    request: UpstreamSend,
    limit: TimeLimit,
    tokenCheck: BudgetTokenCheck,
    address: string | undefined,
  ): Promise<AttemptResult | { notSent: true; waitMs: number }> {
    try {
      await this.sender.post(account, request, limit, tokenCheck, address);
      return { outcome: 'accepted', httpStatus: 200 };
    } catch (error) {
      if (error instanceof UpstreamRequestNotSentError) return { notSent: true, waitMs: 0 };
      if (error instanceof BudgetExhaustedError) return { notSent: true, waitMs: error.retryAfterMs };
      if (error instanceof UpstreamUnavailableError)
        return { notSent: true, waitMs: MAX_LANE_WAIT_IN_OUTAGE_MS };
      return { ...classifyPostError(error, this.settings.safeStatuses), fault: logMessageOf(error) };
    }
  }

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
      // request again.
      this.logger.debug(
        { account, err: error },
        'could not request an earlier poll of the recipient of an accepted send',
      );
    }
  }

  /**
   * Stores the outcome of an attempt. If the send changed during the attempt, there are three cases:
   * - Another worker has only begun a look-up of the send: the outcome is stored, because a reply is more certain than
   *   a look-up. If the outcome is `ambiguous`, only the attempt is recorded.
   * - Redis lost the record of this POST, and upstream accepted or may have accepted the POST: the lost record is
   *   stored again first, so that the POST is not repeated.
   * - The send changed in another way, for example because its message was found: only the attempt is recorded.
   * @returns true if the send was the last in its lane
   */
  private async recordOutcome(account: string, record: SendRecord, change: StateChange): Promise<boolean> {
    let current = record;
    let isLaneEmpty = false;
    const onLaneEmpty = (): void => {
      isLaneEmpty = true;
    };
    for (;;) {
      const next = await this.store.apply(account, current, { ...change, onLaneEmpty });
      if (next !== undefined) return isLaneEmpty;
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
          state: { ...moved.state, attempts: change.state.attempts },
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

function attemptOf({ state, order }: SendRecord, { outcome, httpStatus, error }: AttemptResult): SendAttempt {
  return {
    at: new Date(state.begunAt ?? order.createdAt).toISOString(),
    outcome,
    ...(httpStatus === undefined ? {} : { httpStatus }),
    ...(error === undefined ? {} : { error }),
  };
}

/** True if an outage may have caused this result: upstream was unreachable, or rejected the account with 401 or 403. */
function mayHoldAccount({ outcome, httpStatus }: AttemptResult): boolean {
  if (httpStatus === 401 || httpStatus === 403) return true;
  return outcome === 'not_taken' && httpStatus === undefined;
}
