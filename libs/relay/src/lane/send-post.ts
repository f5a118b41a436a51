import { type Logger, logWords, TimeLimit } from '#platform';
import {
  type Admission,
  BudgetExhaustedError,
  UpstreamError,
  type UpstreamSend,
  UpstreamTooLateError,
  UpstreamUnavailableError,
} from '#upstream';
import { type AttemptResult, outcomeOf, retryWaitMs } from './attempt-outcome.js';
import { BlobMissingError, type BlobStore, BlobStoreUnavailableError } from '#blobs';
import type { Lookup, Sender } from '../ports.js';
import type { RelaySettings } from '../send/relay-settings.js';
import type { LaneHead, RelayStore, StateChange } from '../send/relay-store.js';
import {
  isAwaitingMessage,
  type SendProgress,
  type SendRecord,
  lastingFields,
  withAttempt,
} from '../send/send-record.js';
import { HELD_WAIT_MS, type SendSearch } from './send-search.js';
import type { AttemptOutcome, SendAttempt } from '../send/send.js';

/**
 * From reading the send to its fence, and from its fence to its POST, there is at most this; else it is all begun anew,
 * for others may have looked meanwhile.
 */
const MAX_FENCE_AGE_MS = 2_000;
/** So much longer than the POST's deadline a posting process is believed to be alive. */
const LEASE_MARGIN_MS = 5_000;
/** How soon a sighting that did not come is asked for. */
const FIRST_CONFIRM_MS = 1_000;

/** What follows from an attempt, for its line in the log. */
const DECISIONS: Readonly<Record<AttemptOutcome, string>> = {
  accepted: 'its message is expected',
  refused: 'failed',
  not_taken: 'tried again',
  ambiguous: 'looked for',
};

/** Hands one send to upstream: the fence, the POST, and what became of it. */
export class SendPost {
  constructor(
    private readonly store: RelayStore,
    private readonly sender: Sender,
    private readonly lookup: Lookup,
    private readonly blobs: BlobStore,
    private readonly search: SendSearch,
    private readonly settings: RelaySettings,
    private readonly logger: Logger,
    private readonly random: () => number,
  ) {}

  /**
   * How long the lane waits after it, in milliseconds; 0 to go on at once.
   * @param address the stamp of the only address that it may go to
   */
  async post(account: string, head: LaneHead, address: string | undefined): Promise<number> {
    const untilFence = new TimeLimit(MAX_FENCE_AGE_MS);
    let admission: Admission;
    try {
      admission = await this.sender.admit(account);
    } catch (error) {
      if (error instanceof BudgetExhaustedError) return error.retryAfterMs;
      if (error instanceof UpstreamUnavailableError) return HELD_WAIT_MS;
      throw error;
    }
    if (untilFence.isOver()) return 0;
    const fencedAt = performance.now();
    const untilPost = new TimeLimit(MAX_FENCE_AGE_MS);
    const record = await this.fence(account, head);
    if (record === undefined) return 0;
    const request = await this.requestOf(record);
    if (request instanceof Error) {
      const outcome = request instanceof BlobMissingError ? 'refused' : 'not_taken';
      const result: AttemptResult = { outcome, error: request.message, fault: logWords(request) };
      this.report(account, record, result, fencedAt, DECISIONS[outcome]);
      return this.finish(account, record, result);
    }
    if (untilPost.isOver()) {
      request.file?.content.destroy();
      return this.undoFence(account, record, 0);
    }
    const result = await this.attempt(account, request, untilPost, admission, address);
    if ('notSent' in result) return this.undoFence(account, record, result.waitMs);
    const isHeld = mayHoldAccount(result) && (await this.sender.isHeld(account));
    this.report(account, record, result, fencedAt, isHeld ? 'held' : DECISIONS[result.outcome]);
    return isHeld ? this.hold(account, record, result) : this.finish(account, record, result);
  }

  /** One line an attempt: whose it is, how it ended, and what follows; never what was sent, nor upstream's own words. */
  private report(
    account: string,
    { order, state }: SendRecord,
    { outcome, httpStatus, fault, retryAfterMs }: AttemptResult,
    begunAt: number,
    decision: string,
  ): void {
    this.logger.info(
      {
        account,
        ...(order.requestId === undefined ? {} : { requestId: order.requestId }),
        sendId: order.id,
        attempt: state.attempts.length + 1,
        outcome,
        ...(httpStatus === undefined ? {} : { status: httpStatus }),
        ...(fault === undefined ? {} : { error: fault }),
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        durationMs: Math.round(performance.now() - begunAt),
        decision,
      },
      'send.attempted',
    );
  }

  /**
   * The POST was surely not made: everything is as it was before it, also where others look for it already, for it is
   * this very POST that they look for.
   */
  private async undoFence(account: string, record: SendRecord, waitMs: number): Promise<number> {
    let current: SendRecord | undefined = record;
    while (current !== undefined) {
      const state = lastingFields(current.state);
      if ((await this.store.apply(account, current, { transition: 'requeued', state })) !== undefined)
        return waitMs;
      const moved = await this.store.find(account, record.order.id);
      current = moved !== undefined && isSearchedFor(moved, record) ? moved : undefined;
    }
    return 0;
  }

  /** The attempt showed that all the account's sends must wait: it costs this one no step of its schedule. */
  private async hold(account: string, record: SendRecord, result: AttemptResult): Promise<number> {
    const attempt = attemptOf(record, { ...result, outcome: 'not_taken' });
    const attempts = withAttempt(record.state.attempts, attempt);
    await this.commit(account, record, {
      transition: 'not_taken',
      state: { ...lastingFields(record.state), attempts },
    });
    return HELD_WAIT_MS;
  }

  /** Marks the send as being posted, for as long as the POST can take. */
  private fence(account: string, { record, now }: LaneHead): Promise<SendRecord | undefined> {
    const { begunAt, firstBegunAt } = record.state;
    const leaseMs = this.settings.postTimeoutMs + LEASE_MARGIN_MS;
    const state: SendProgress = {
      ...lastingFields(record.state),
      ...(begunAt !== undefined && isAwaitingMessage(record.state)
        ? { firstBegunAt: firstBegunAt ?? begunAt }
        : {}),
      phase: 'posting',
      begunAt: now,
      notBefore: now + leaseMs,
    };
    return this.store.apply(account, record, {
      transition: 'fenced',
      state,
      laneDueInMs: leaseMs,
      redisRun: 'mustMatch',
    });
  }

  private async requestOf({
    order,
  }: SendRecord): Promise<UpstreamSend | BlobMissingError | BlobStoreUnavailableError> {
    const { phoneNumber, type, message, fileUrl, extraFields, file } = order;
    const request: UpstreamSend = {
      phoneNumber,
      type,
      ...(message === undefined ? {} : { message }),
      ...(fileUrl === undefined ? {} : { fileUrl }),
      ...(extraFields === undefined ? {} : { extraFields }),
    };
    if (file === undefined) return request;
    try {
      const { blobId, name, contentType, size } = file;
      return { ...request, file: { name, contentType, size, content: await this.blobs.open(blobId) } };
    } catch (error) {
      if (error instanceof BlobMissingError || error instanceof BlobStoreUnavailableError) return error;
      throw error;
    }
  }

  private async attempt(
    account: string,
    request: UpstreamSend,
    limit: TimeLimit,
    admission: Admission,
    address: string | undefined,
  ): Promise<AttemptResult | { notSent: true; waitMs: number }> {
    try {
      await this.sender.post(account, request, limit, admission, address);
      return { outcome: 'accepted', httpStatus: 200 };
    } catch (error) {
      if (error instanceof UpstreamTooLateError) return { notSent: true, waitMs: 0 };
      if (error instanceof BudgetExhaustedError) return { notSent: true, waitMs: error.retryAfterMs };
      if (error instanceof UpstreamUnavailableError) return { notSent: true, waitMs: HELD_WAIT_MS };
      return { ...outcomeOf(error, this.settings.safeStatuses), fault: logWords(error) };
    }
  }

  private async finish(account: string, record: SendRecord, result: AttemptResult): Promise<number> {
    const { outcome, error, retryAfterMs } = result;
    const attempts = withAttempt(record.state.attempts, attemptOf(record, result));
    const state: SendProgress = { ...lastingFields(record.state), attempts };
    switch (outcome) {
      case 'accepted':
        return this.accept(account, record, state);
      case 'refused':
        await this.commit(account, record, {
          transition: 'refused',
          state: { ...state, ...(error === undefined ? {} : { reason: error }) },
        });
        return 0;
      case 'not_taken': {
        const { retryScheduleSeconds } = this.settings;
        const waitMs = retryWaitMs(retryScheduleSeconds, state.refusals, retryAfterMs, this.random());
        const notBefore = (await this.store.now(account)) + waitMs;
        await this.commit(account, record, {
          transition: 'not_taken',
          state: { ...state, refusals: state.refusals + 1, notBefore },
        });
        return waitMs;
      }
      case 'ambiguous': {
        const now = await this.store.now(account);
        const tried = { ...record, state: { ...record.state, ...state } };
        await this.commit(account, record, this.search.begin('ambiguous', tried, now, error));
        return 0;
      }
    }
  }

  private async accept(account: string, record: SendRecord, state: SendProgress): Promise<number> {
    const { phoneNumber } = record.order;
    await this.commit(account, record, {
      transition: 'accepted',
      state,
      confirmInMs: FIRST_CONFIRM_MS,
    });
    try {
      await this.lookup.expect(account, phoneNumber);
    } catch (error) {
      // Upstream took the send; that its list cannot be read just now only makes the sighting later.
      if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
    }
    return 0;
  }

  /**
   * Writes how an attempt ended. If the send moved meanwhile (its message was seen before the answer came), that end
   * stands, and the attempt is only noted; but where others merely look for what became of this very POST, its answer
   * says it, and where Redis forgot a POST that may have been taken, that is written anew: it must not be made again.
   */
  private async commit(account: string, record: SendRecord, change: StateChange): Promise<void> {
    let current = record;
    while ((await this.store.apply(account, current, change)) === undefined) {
      const moved = await this.store.find(account, record.order.id);
      if (moved === undefined) return;
      if (isFenceLost(moved, record) && ['accepted', 'ambiguous'].includes(change.transition)) {
        const fence = { transition: 'fence_restored', state: record.state, redisRun: 'update' } as const;
        current = (await this.store.apply(account, moved, fence)) ?? record;
        continue;
      }
      if (!isSearchedFor(moved, record) || change.transition === 'ambiguous') {
        await this.store.apply(account, moved, {
          transition: 'attempt_recorded',
          state: { ...moved.state, attempts: change.state.attempts },
        });
        return;
      }
      current = moved;
    }
  }
}

/** Whether others merely look for what became of this very POST. */
function isSearchedFor({ state }: SendRecord, posted: SendRecord): boolean {
  return state.phase === 'looking' && state.begunAt === posted.state.begunAt;
}

/** Whether Redis lost the fence of this POST: the send waits, or is looked for, as if it had not been posted. */
function isFenceLost({ state }: SendRecord, posted: SendRecord): boolean {
  const isWaiting = state.status === 'queued' || state.phase === 'looking';
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

/** Whether this end may come of what holds the account: nobody was there, or the account was not let in. */
function mayHoldAccount({ outcome, httpStatus }: AttemptResult): boolean {
  if (httpStatus === 401 || httpStatus === 403) return true;
  return outcome === 'not_taken' && httpStatus === undefined;
}
