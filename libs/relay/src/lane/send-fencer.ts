import { TimeLimit, uniqueString } from '#platform';
import { type BudgetTokenRenewal, BudgetExhaustedError, UpstreamUnavailableError } from '#upstream';
import type { Sender } from '../ports.js';
import { confirmationPeriodMs, postRequestLeaseMs, type RelaySettings } from '../send/relay-settings.js';
import type { LaneHead } from '../send/lane-store.js';
import type { RelayStore } from '../send/relay-store.js';
import { InvalidTransitionError } from '../send/send-transitions.js';
import {
  isAwaitingMessage,
  type SendProgress,
  type SendRecord,
  fieldsKeptAcrossTransitions,
  earliestPostTimeWithoutBoundMessage,
} from '../send/send-record.js';
import type { FencedSend } from './fenced-send.js';
import type { PostOutcomeRecorder } from './post-outcome-recorder.js';
import { MAX_LANE_WAIT_IN_OUTAGE_MS } from './send-lookup-runner.js';

/**
 * Maximum duration, in milliseconds, of each of two steps before a POST. First step: from reading the send to marking
 * it as `relaying`. Second step: from marking the send to starting the POST (opening a connection is part of the
 * POST). If a step lasts longer, the POST is not made, and the send is read again before the next try, because in the
 * meantime the send may have expired, or another worker may have begun a look-up of the send.
 */
export const MAX_STEP_BEFORE_POST_MS = 2_000;

/** Marks sends as `relaying` (the fence), so that no other process posts them. */
export class SendFencer {
  private readonly leaseMs: number;

  constructor(
    private readonly store: RelayStore,
    private readonly sender: Sender,
    private readonly outcomes: PostOutcomeRecorder,
    private readonly settings: RelaySettings,
  ) {
    this.leaseMs = postRequestLeaseMs(settings);
  }

  /**
   * Takes a token of the request budget and marks the send as being posted: usually in one atomic step, otherwise one
   * after the other. If the send cannot be marked now, or has changed since it was read, returns the wait before the
   * lane's next step, in milliseconds.
   */
  async fence(
    account: string,
    head: LaneHead,
    { requestsPerSecond, untilFence }: { requestsPerSecond: number; untilFence: TimeLimit },
  ): Promise<FencedSend | { waitMs: number }> {
    if (untilFence.isOver()) return { waitMs: 0 };
    const fencedAt = performance.now();
    const untilPost = new TimeLimit(MAX_STEP_BEFORE_POST_MS);
    const { record, now } = head;
    const { leaseMs } = this;
    const untilDecided = this.untilDecided(record);
    const state = this.fencedState(head, now + leaseMs);
    const result = await this.fenceOrUndo(account, record, untilDecided, (name) =>
      this.store.fence(account, record, { state, leaseMs, requestsPerSecond, name }),
    );
    if (result === 'undone' || result.kind === 'changed') return { waitMs: 0 };
    if (result.kind === 'unusual') return this.takeTokenAndFence(account, head);
    return { record: result.record, fencedAt, untilPost, untilDecided, token: { requestedAt: fencedAt } };
  }

  /** Waits for a token of the request budget, and then marks the send as being posted. */
  private async takeTokenAndFence(account: string, head: LaneHead): Promise<FencedSend | { waitMs: number }> {
    // Start a new time limit here, because the wait for a token may take almost as long as the limit. The caller's
    // limit started earlier. It could be over when the token arrives, and the token would then be lost.
    const untilFence = new TimeLimit(MAX_STEP_BEFORE_POST_MS);
    let token: BudgetTokenRenewal;
    try {
      token = await this.sender.takeBudgetToken(account);
    } catch (error) {
      if (error instanceof BudgetExhaustedError) return { waitMs: error.retryAfterMs };
      if (error instanceof UpstreamUnavailableError) return { waitMs: MAX_LANE_WAIT_IN_OUTAGE_MS };
      throw error;
    }
    if (untilFence.isOver()) return { waitMs: 0 };
    const fencedAt = performance.now();
    const untilPost = new TimeLimit(MAX_STEP_BEFORE_POST_MS);
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
      : { record, fencedAt, untilPost, untilDecided, token };
  }

  /**
   * Marks a send as being posted. If Redis fails, the send may be marked although Redis' reply was lost. In that
   * case, queues the send again and returns `undone`. Only this process knows that the send was not posted. Any other
   * process would look up the send until the end of its confirmation period, and could then not tell whether it was
   * posted.
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
      const stored = await this.outcomes.untilRecorded(untilDecided, () =>
        this.store.find(account, order.id),
      );
      if (stored?.state.step !== name) throw error;
      await this.outcomes.requeueUnposted(account, stored, untilDecided, 0);
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
  private fencedState({ record, now, upstreamAheadMs }: LaneHead, leaseEnd: number): SendProgress {
    return {
      ...fieldsKeptAcrossTransitions(record.state),
      ...(isAwaitingMessage(record.state)
        ? { firstBegunAt: earliestPostTimeWithoutBoundMessage(record) }
        : {}),
      phase: 'posting',
      begunAt: now,
      ...(upstreamAheadMs === undefined ? {} : { begunUpstreamAheadMs: upstreamAheadMs }),
      notBefore: leaseEnd,
    };
  }
}
