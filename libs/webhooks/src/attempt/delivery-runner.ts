import { setMaxListeners } from 'node:events';
import { DeadlineError, type Logger, TimeLimit, withDeadline } from '#platform';
import { AttemptSlots } from './attempt-slots.js';
import { ClaimedDeliveryHandler, MAX_HINT_DELAY_MS } from './claimed-delivery-handler.js';
import { FailingEndpointDisabler } from './failing-endpoint-disabler.js';
import type { BacklogRefiller } from '../dispatch/backlog-refiller.js';
import type { DeliveryAttempter } from './delivery-attempter.js';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import { tryToWakeWorker } from '../delivery/wake-worker.js';
import type { ClaimedDelivery, ClaimResult, DeliveryStore } from '../delivery/delivery-store.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import type { EndpointForDelivery } from '../endpoint/stored-endpoint.js';

/** Limits and durations for the delivery attempts of a worker. */
export interface DeliveryWorkerSettings {
  /** Max requests in flight to one endpoint, over all processes. An endpoint's own `maxConcurrency` overrides it. */
  maxConcurrency: number;
  /** Time for which all attempts to an endpoint must have failed before it is disabled, in milliseconds. */
  disableAfterMs: number;
  /** Timeout of one attempt, in milliseconds. */
  timeoutMs: number;
  /** Max concurrent attempts of one process, to all endpoints together. Default 1,000. */
  attemptSlots?: number;
  /**
   * Time by which the lease of a delivery is longer than the timeout of an attempt, in milliseconds. Default 15,000.
   */
  leaseMarginMs?: number;
}

const DEFAULT_ATTEMPT_SLOTS = 1_000;
const DEFAULT_LEASE_MARGIN_MS = 15_000;
/** Max deliveries that are claimed in one step. */
const MAX_CLAIMED = 50;
/** Max time that the process waits during shutdown until aborted attempts have ended, in milliseconds. */
const ABORT_GRACE_MS = 3_000;

/** A running claim of all due deliveries of one endpoint. */
interface WorkRun {
  /** Resolves when the claim has ended. */
  done: Promise<void>;
  /** The claim that begins after this one, if {@link DeliveryRunner.work} was called during this claim. */
  next?: Promise<void>;
}

/**
 * Claims due deliveries of endpoints and attempts them. All state is in the store, so any number of processes can
 * work on one endpoint, and no delivery is lost if one of them crashes.
 */
export class DeliveryRunner {
  private readonly slots: AttemptSlots;
  private readonly leaseMs: number;
  /** Max time from the beginning of a claim to the start of an attempt, so that the attempt ends within the lease. */
  private readonly startWithinMs: number;
  /** The running claims, at most one per endpoint. See {@link keyOf} for the keys. */
  private readonly runs = new Map<string, WorkRun>();
  /** The endpoints that have running attempts but got no slot for further deliveries. */
  private readonly waitingForSlot = new Map<string, { account: string; endpointId: string }>();
  /** The delivery attempts that are running now. */
  private readonly attempts = new Set<Promise<void>>();
  private readonly handler: ClaimedDeliveryHandler;
  private draining = false;
  /** Aborts all attempts. All attempts share one signal, because a signal for each attempt would cost too much time. */
  private readonly aborting = new AbortController();

  constructor(
    private readonly store: DeliveryStore,
    endpoints: Pick<EndpointStore, 'disable' | 'find'>,
    private readonly backlog: Pick<BacklogRefiller, 'refill'>,
    attempter: DeliveryAttempter,
    private readonly jobs: DeliveryJobs,
    private readonly settings: DeliveryWorkerSettings,
    private readonly logger: Logger,
  ) {
    const margin = settings.leaseMarginMs ?? DEFAULT_LEASE_MARGIN_MS;
    this.slots = new AttemptSlots(settings.attemptSlots ?? DEFAULT_ATTEMPT_SLOTS);
    this.leaseMs = settings.timeoutMs + margin;
    this.startWithinMs = margin / 3;
    const disabler = new FailingEndpointDisabler(store, endpoints, settings.disableAfterMs, logger);
    const recordWithinMs = (margin * 2) / 3;
    this.handler = new ClaimedDeliveryHandler(store, attempter, disabler, jobs, recordWithinMs, logger);
    setMaxListeners(0, this.aborting.signal);
  }

  /**
   * Starts attempts of an endpoint's due deliveries, as far as the limits of the endpoint and of this process allow.
   * Waits for a slot if this process has no free slot and no running attempt of the endpoint. Resolves when the
   * attempts have started. When one of them ends, this process claims further deliveries if more are due. If a claim
   * for the endpoint is already running, waits for that claim and then for a second claim, because the running claim
   * may have missed deliveries that became due meanwhile.
   */
  work(account: string, endpointId: string): Promise<void> {
    const run = this.runs.get(keyOf(account, endpointId));
    if (run === undefined) return this.startRun(account, endpointId);
    run.next ??= run.done
      // Ignore an error of the running claim: the callers that waited for that claim get the error.
      .catch(() => undefined)
      .then(() => this.startRun(account, endpointId));
    return run.next;
  }

  /**
   * Starts {@link DeliveryRunner.work} for endpoints in the background. Returns false and does nothing if this process
   * has no free slot or shuts down. The caller must then wake another process.
   */
  tryWork(account: string, endpointIds: Iterable<string>): boolean {
    if (this.draining || this.slots.isFull) return false;
    for (const endpointId of endpointIds) void this.workOrWarn(account, endpointId);
    return true;
  }

  /**
   * Wakes a worker for every endpoint with due deliveries, in case a wake-up job was lost or a worker died. Call this
   * method every few seconds.
   */
  async reconcile(account: string): Promise<void> {
    for await (const endpointIds of this.store.overdue(account)) await this.jobs.remind(account, endpointIds);
  }

  /**
   * Ends all delivery attempts of this process, and claims no further deliveries. Waits up to `deadlineMs` milliseconds
   * for the attempts in progress. Then aborts the remaining attempts and releases their deliveries, so that another
   * process can attempt them at once.
   */
  async drain(deadlineMs: number): Promise<void> {
    this.draining = true;
    this.slots.close();
    if (await this.waitUntilIdle(deadlineMs)) return;
    this.aborting.abort();
    if (await this.waitUntilIdle(ABORT_GRACE_MS)) return;
    this.logger.warn(
      { attempts: this.attempts.size },
      'the process stops while delivery attempts are in progress; the deliveries are attempted again later',
    );
  }

  /** Calls {@link DeliveryRunner.work}. If that fails, only logs the failure: a periodic task wakes a worker later. */
  private async workOrWarn(account: string, endpointId: string): Promise<void> {
    try {
      await this.work(account, endpointId);
    } catch (error) {
      this.logger.warn(
        { account, endpointId, err: error },
        'could not claim the due deliveries of a webhook; a periodic task tries again',
      );
    }
  }

  private startRun(account: string, endpointId: string): Promise<void> {
    const key = keyOf(account, endpointId);
    const run: WorkRun = { done: Promise.resolve() };
    this.runs.set(key, run);
    // There must be no `await` between the check of `run.next` and the deletion of the run. Otherwise, a call of `work`
    // in between would claim no deliveries.
    run.done = this.claimAll(account, endpointId).finally(() => {
      if (run.next === undefined) this.runs.delete(key);
    });
    return run.done;
  }

  private async claimAll(account: string, endpointId: string): Promise<void> {
    const key = keyOf(account, endpointId);
    let more = true;
    while (more && !this.draining) {
      const room = await this.slots.acquire(key, MAX_CLAIMED);
      if (room === 0) {
        // If attempts of the endpoint are running in this process, more deliveries are claimed when one of them ends and
        // frees its slot.
        if (this.slots.isUsedBy(key)) this.waitingForSlot.set(key, { account, endpointId });
        // Otherwise, the last attempt has just ended, or this process began to shut down. So a worker is woken to claim
        // the deliveries.
        else await this.wake(account, endpointId);
        return;
      }
      more = await this.claim(account, endpointId, room);
    }
    // This process claims no further deliveries, so another one must do it.
    if (more) await this.wake(account, endpointId);
  }

  /**
   * Claims up to `maxDeliveries` deliveries and starts their attempts. The caller has taken a slot for each of them.
   * Returns true if the caller must call this method again at once, because more deliveries may be due.
   */
  private async claim(account: string, endpointId: string, maxDeliveries: number): Promise<boolean> {
    const claimed = await this.startClaimed(account, endpointId, maxDeliveries);
    if (claimed.kind === 'ended') {
      await this.store.endPending(account, endpointId);
      return false;
    }
    const { waitMs = 0, missed, canRefill } = claimed;
    if (missed > 0)
      this.logger.warn(
        { account, endpointId, missed },
        'events were deleted from the event log before they could be delivered',
      );
    if (waitMs > 0 && waitMs <= MAX_HINT_DELAY_MS) await this.wake(account, endpointId, waitMs);
    if (canRefill) await this.backlog.refill(account, endpointId);
    return claimed.hasMore || canRefill;
  }

  /**
   * Claims deliveries and starts their attempts. Releases unneeded slots as soon as the number of claimed deliveries
   * is known.
   */
  private async startClaimed(
    account: string,
    endpointId: string,
    maxDeliveries: number,
  ): Promise<ClaimResult> {
    let unused = maxDeliveries;
    try {
      const { maxConcurrency: defaultConcurrency } = this.settings;
      const limit = new TimeLimit(this.startWithinMs);
      const claimed = await this.store.claim(account, endpointId, {
        defaultConcurrency,
        maxDeliveries,
        leaseMs: this.leaseMs,
      });
      if (claimed.kind === 'ended') return claimed;
      for (const delivery of claimed.deliveries) {
        this.start(account, claimed.endpoint, delivery, limit);
        unused--;
      }
      return claimed;
    } finally {
      this.releaseSlots(keyOf(account, endpointId), unused);
    }
  }

  private start(
    account: string,
    endpoint: EndpointForDelivery,
    delivery: ClaimedDelivery,
    limit: TimeLimit,
  ): void {
    // Release the delivery instead of attempting it if this process began to shut down during the claim. Also release
    // the delivery if the claim took too long, for example because this process was suspended: another process may
    // have delivered this event and later events in that time.
    const signal = this.draining || limit.isOver() ? AbortSignal.abort() : this.aborting.signal;
    const task = this.attempt(account, endpoint, delivery, signal).then(() => {
      this.attempts.delete(task);
    });
    this.attempts.add(task);
  }

  /**
   * Makes one attempt, then claims further deliveries. Never rejects: after an error, the delivery is attempted again
   * when its lease has expired.
   */
  private async attempt(
    account: string,
    endpoint: EndpointForDelivery,
    delivery: ClaimedDelivery,
    signal: AbortSignal,
  ): Promise<void> {
    let more = false;
    try {
      more = await this.handler.deliver(account, endpoint, delivery, signal);
    } catch (error) {
      const { id: deliveryId, endpointId, eventId } = delivery;
      this.logger.error(
        { account, endpointId, eventId, deliveryId, err: error },
        'a delivery attempt failed with an unexpected error; the delivery is attempted again when its lease expires',
      );
    } finally {
      this.releaseSlots(keyOf(account, endpoint.id), 1);
    }
    // While this process shuts down, another process must claim the further deliveries.
    if (more && this.draining) await this.wake(account, endpoint.id);
    else if (more) await this.workOrWarn(account, endpoint.id);
  }

  /** Releases slots of an endpoint, and continues the claims of endpoints that got no slot for further deliveries. */
  private releaseSlots(ofKey: string, count: number): void {
    this.slots.release(ofKey, count);
    for (const [key, { account, endpointId }] of this.waitingForSlot) {
      if (this.slots.isFull) return;
      if (!this.slots.hasSlotFor(key)) continue;
      this.waitingForSlot.delete(key);
      this.tryWork(account, [endpointId]);
    }
  }

  private wake(account: string, endpointId: string, delayMs = 0): Promise<void> {
    return tryToWakeWorker(this.jobs, this.logger, account, [endpointId], delayMs);
  }

  /**
   * Waits until no claim and no attempt is in progress in this process. Returns false if that takes longer than
   * `deadlineMs` milliseconds.
   */
  private async waitUntilIdle(deadlineMs: number): Promise<boolean> {
    const end = performance.now() + deadlineMs;
    while (this.runs.size > 0 || this.attempts.size > 0) {
      const runs = [...this.runs.values()].map(({ done }) => done);
      const all = Promise.allSettled([...runs, ...this.attempts]);
      try {
        await withDeadline(all, Math.max(end - performance.now(), 0), 'deliveries under way');
      } catch (error) {
        if (error instanceof DeadlineError) return false;
        throw error;
      }
    }
    return true;
  }
}

/** Key of an endpoint in maps that contain endpoints of all accounts. */
function keyOf(account: string, endpointId: string): string {
  return `${account}\n${endpointId}`;
}
