import type { Logger } from '#platform';
import { BudgetExhaustedError, UpstreamError, type UpstreamSend } from '#upstream';
import { type AttemptResult, outcomeOf, retryWaitMs } from './attempt-outcome.js';
import { BlobMissingError, type BlobStore } from './blob-store.js';
import { nextStep } from './lane-step.js';
import type { Lookup, RelayJobs, Sender } from './ports.js';
import type { RelaySettings } from './relay-settings.js';
import type { LaneHead, RelayStore, Transition } from './relay-store.js';
import { type SendRecord, type SendState, settled, withAttempt } from './send-record.js';

/** A POST begins within this time of its fence, or the fence is taken anew: others may have looked meanwhile. */
const FENCE_MS = 2_000;
/** So much longer than the POST's deadline a posting process is believed to be alive. */
const LEASE_MARGIN_MS = 5_000;
/** Waits between looks at a recipient's messages, in milliseconds; the last one from then on. */
const LOOK_WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
/** A lane hands its worker's place on after so many sends, so that a long lane does not keep others waiting. */
const MOST_SENDS = 50;
/** How soon a sighting that did not come is asked for. */
const FIRST_CONFIRM_MS = 1_000;

/** Relays the sends of one recipient, one at a time, in the order of their acceptance. */
export class LaneRunner {
  private stopping = false;

  constructor(
    private readonly store: RelayStore,
    private readonly sender: Sender,
    private readonly lookup: Lookup,
    private readonly blobs: BlobStore,
    private readonly jobs: RelayJobs,
    private readonly settings: RelaySettings,
    private readonly logger: Logger,
    private readonly random: () => number = Math.random,
  ) {}

  /** From now on a run ends with the send that it is at; what is left is due and found by others. */
  stop(): void {
    this.stopping = true;
  }

  /** Does what is due in a lane. Two runners in one lane do no harm: each step is fenced. */
  async run(account: string, lane: string): Promise<void> {
    for (let sends = 0; sends < MOST_SENDS && !this.stopping; sends += 1) {
      const head = await this.store.head(account, lane);
      if (head === undefined || !(await this.step(account, lane, head))) return;
    }
    await this.jobs.wake(account, lane);
  }

  /** Whether the lane may have more to do right now. */
  private async step(account: string, lane: string, head: LaneHead): Promise<boolean> {
    const { record, now } = head;
    const step = nextStep(record, now, this.settings.maxAgeMs);
    switch (step.kind) {
      case 'wait':
        return this.wait(account, lane, step.ms);
      case 'leave':
        await this.store.transit(account, record, { state: record.state, lane: 'leave' });
        return true;
      case 'expire':
        await this.store.transit(account, record, {
          state: { ...settled(record.state), status: 'expired', reason: step.reason },
          event: 'send.expired',
          lane: 'leave',
        });
        return true;
      case 'post':
        return this.post(account, lane, head);
      case 'recover':
        this.logger.warn(
          { account, sendId: record.order.id },
          'a POST was left by its process; looking for it',
        );
        await this.startLooking(account, head, 'The process that was relaying it ended.');
        return true;
      case 'look':
        return this.look(account, lane, head);
    }
  }

  private async wait(account: string, lane: string, ms: number): Promise<false> {
    await this.store.postpone(account, lane, ms);
    await this.jobs.wake(account, lane, ms);
    return false;
  }

  private async post(account: string, lane: string, head: LaneHead): Promise<boolean> {
    const { order } = head.record;
    try {
      await this.sender.admit(account);
    } catch (error) {
      if (!(error instanceof BudgetExhaustedError)) throw error;
      return this.wait(account, lane, error.retryAfterMs);
    }
    const fencedAt = performance.now();
    const record = await this.fence(account, head);
    if (record === undefined) return true;
    let request: UpstreamSend;
    try {
      request = await this.toRequest(record);
    } catch (error) {
      if (!(error instanceof BlobMissingError)) throw error;
      return this.finish(account, record, { outcome: 'refused', error: error.message });
    }
    if (performance.now() - fencedAt > FENCE_MS) {
      request.file?.content.destroy();
      await this.store.transit(account, record, {
        state: { ...settled(record.state), status: 'queued' },
        awaiting: false,
      });
      return true;
    }
    const result = await this.attempt(account, request);
    this.logger.info({ account, sendId: order.id, ...result }, 'send attempted');
    return this.finish(account, record, result);
  }

  /** Marks the send as being posted, for as long as the POST can take. */
  private fence(account: string, { record, now }: LaneHead): Promise<SendRecord | undefined> {
    const leaseMs = this.settings.postTimeoutMs + LEASE_MARGIN_MS;
    return this.store.transit(account, record, {
      state: {
        ...settled(record.state),
        status: 'relaying',
        phase: 'posting',
        begunAt: now,
        notBefore: now + leaseMs,
      },
      laneDueInMs: leaseMs,
      awaiting: true,
    });
  }

  private async toRequest({ order }: SendRecord): Promise<UpstreamSend> {
    const { phoneNumber, type, message, fileUrl, file } = order;
    return {
      phoneNumber,
      type,
      ...(message === undefined ? {} : { message }),
      ...(fileUrl === undefined ? {} : { fileUrl }),
      ...(file === undefined
        ? {}
        : {
            file: {
              name: file.name,
              contentType: file.contentType,
              size: file.size,
              content: await this.blobs.open(file.blobId),
            },
          }),
    };
  }

  private async attempt(account: string, request: UpstreamSend): Promise<AttemptResult> {
    try {
      await this.sender.post(account, request);
      return { outcome: 'accepted', httpStatus: 200 };
    } catch (error) {
      return outcomeOf(error, this.settings.safeStatuses);
    }
  }

  private async finish(account: string, record: SendRecord, result: AttemptResult): Promise<boolean> {
    const { outcome, httpStatus, error, retryAfterMs } = result;
    const attempts = withAttempt(record.state.attempts, {
      at: new Date(record.state.begunAt ?? record.order.createdAt).toISOString(),
      outcome,
      ...(httpStatus === undefined ? {} : { httpStatus }),
      ...(error === undefined ? {} : { error }),
    });
    const state: SendState = { ...settled(record.state), attempts };
    switch (outcome) {
      case 'accepted':
        return this.accept(account, record, state);
      case 'refused':
        await this.commit(account, record, {
          state: { ...state, status: 'failed', ...(error === undefined ? {} : { reason: error }) },
          event: 'send.failed',
          lane: 'leave',
          awaiting: false,
        });
        return true;
      case 'not_taken': {
        const { retryScheduleSeconds } = this.settings;
        const waitMs = retryWaitMs(retryScheduleSeconds, state.refusals, retryAfterMs, this.random());
        const notBefore = (await this.store.now()) + waitMs;
        await this.commit(account, record, {
          state: { ...state, status: 'queued', refusals: state.refusals + 1, notBefore },
          laneDueInMs: waitMs,
          awaiting: false,
        });
        await this.jobs.wake(account, record.order.phoneNumber, waitMs);
        return false;
      }
      case 'ambiguous':
        await this.startLooking(
          account,
          { record: { ...record, state: { ...record.state, attempts } }, now: await this.store.now() },
          error,
        );
        return true;
    }
  }

  private async accept(account: string, record: SendRecord, state: SendState): Promise<boolean> {
    const { phoneNumber, file } = record.order;
    await this.commit(account, record, {
      state: { ...state, status: 'accepted' },
      event: 'send.accepted',
      lane: 'leave',
      confirmInMs: FIRST_CONFIRM_MS,
    });
    if (file !== undefined) await this.blobs.remove(file.blobId);
    try {
      await this.lookup.expect(account, phoneNumber);
    } catch (error) {
      // Upstream took the send; that its list cannot be read just now only makes the sighting later.
      if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
    }
    return true;
  }

  private async startLooking(
    account: string,
    { record, now }: LaneHead,
    reason: string | undefined,
  ): Promise<void> {
    const { file, fileUrl } = record.order;
    const lookLeftMs =
      file === undefined && fileUrl === undefined ? this.settings.confirmMs : this.settings.confirmMediaMs;
    const waitMs = LOOK_WAITS_MS[0] ?? 0;
    await this.commit(account, record, {
      state: {
        ...settled(record.state),
        status: 'relaying',
        phase: 'looking',
        lookLeftMs,
        lookedAt: now,
        looks: 0,
        notBefore: now + waitMs,
        ...(reason === undefined ? {} : { reason }),
      },
      laneDueInMs: waitMs,
      awaiting: true,
    });
  }

  /** The time counts only while looks succeed, and it ends with a complete one. */
  private async look(account: string, lane: string, { record, now }: LaneHead): Promise<boolean> {
    const { state } = record;
    const complete = await this.lookUp(account, lane);
    const seen = complete ? Math.max(now - (state.lookedAt ?? now), 0) : 0;
    const lookLeftMs = (state.lookLeftMs ?? 0) - seen;
    if (complete && lookLeftMs <= 0) return this.giveUp(account, record);
    const looks = (state.looks ?? 0) + 1;
    const waitMs = LOOK_WAITS_MS[Math.min(looks, LOOK_WAITS_MS.length - 1)] ?? 0;
    const done = await this.store.transit(account, record, {
      state: { ...state, lookLeftMs, lookedAt: now, looks, notBefore: now + waitMs },
      laneDueInMs: waitMs,
    });
    // Bound by the look itself: the lane goes on at once.
    if (done === undefined) return true;
    await this.jobs.wake(account, lane, waitMs);
    return false;
  }

  private async lookUp(account: string, lane: string): Promise<boolean> {
    try {
      return await this.lookup.lookUp(account, lane);
    } catch (error) {
      if (error instanceof UpstreamError || error instanceof BudgetExhaustedError) return false;
      throw error;
    }
  }

  private async giveUp(account: string, record: SendRecord): Promise<boolean> {
    const { reason } = record.state;
    if (this.settings.onUnknown === 'resend') {
      await this.store.transit(account, record, { state: { ...settled(record.state), status: 'queued' } });
      return true;
    }
    await this.store.transit(account, record, {
      state: { ...settled(record.state), status: 'unknown', ...(reason === undefined ? {} : { reason }) },
      event: 'send.unknown',
      lane: 'leave',
    });
    return true;
  }

  /**
   * Writes how an attempt ended. If the send moved meanwhile (its message was seen before the answer came), that end
   * stands, and the attempt is only noted; but where others merely look for what became of this very POST, its answer
   * says it.
   */
  private async commit(account: string, record: SendRecord, transition: Transition): Promise<void> {
    let current = record;
    while ((await this.store.transit(account, current, transition)) === undefined) {
      const moved = await this.store.find(account, record.order.id);
      if (moved === undefined) return;
      const lookedFor = moved.state.phase === 'looking' && moved.state.begunAt === record.state.begunAt;
      if (!lookedFor || transition.state.status === 'relaying') {
        await this.store.transit(account, moved, {
          state: { ...moved.state, attempts: transition.state.attempts },
        });
        return;
      }
      current = moved;
    }
  }
}
