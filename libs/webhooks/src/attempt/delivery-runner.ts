import { setMaxListeners } from 'node:events';
import { DeadlineError, type Logger, TimeLimit, withDeadline } from '#platform';
import { AttemptSlots, type StartedAttempts } from './attempt-slots.js';
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
  /**
   * Max number of requests in flight to one endpoint, over all processes. An endpoint's own `maxConcurrency`
   * overrides it.
   */
  maxConcurrency: number;
  /** Time for which all attempts to an endpoint must have failed before it is disabled, in milliseconds. */
  disableAfterMs: number;
  /** Timeout of one attempt, in milliseconds. */
  timeoutMs: number;
  /** Max number of concurrent attempts of one process, to all endpoints together. Default 1,000. */
  attemptSlots?: number;
  /**
   * Time by which the lease of a delivery is longer than the timeout of an attempt, in milliseconds. Default 15,000.
   */
  leaseMarginMs?: number;
}

const DEFAULT_ATTEMPT_SLOTS = 1_000;
const DEFAULT_LEASE_MARGIN_MS = 15_000;
/** Max time that the process waits during shutdown until aborted attempts have ended, in milliseconds. */
const ABORT_GRACE_MS = 3_000;

/** A claim and the attempts of its deliveries. */
type StartedClaim = ClaimResult & StartedAttempts;

/** A running loop that claims the due deliveries of one endpoint and starts their attempts. */
interface WorkRun {
  /**
   * Resolves when all due deliveries that this process may claim now are claimed and their attempts have started.
   * Rejects if the store fails.
   */
  done: Promise<void>;
  /** The loop that begins after this one, if {@link DeliveryRunner.work} was called during this loop. */
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
  /** The delivery attempts that are running now. */
  private readonly attempts = new Set<Promise<boolean>>();
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
   * Wakes a worker for every endpoint that needs work now (see {@link DeliveryStore.overdue}), in case a wake-up job
   * was lost or a worker died. Must be called again every few seconds as long as an endpoint needs work.
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
    const claim = (count: number): Promise<StartedClaim> => this.claim(account, endpointId, count);
    const workAgain = (): void => void this.workOrWarn(account, endpointId);
    let more = true;
    while (more && !this.draining) {
      const claimed = await this.slots.use(keyOf(account, endpointId), claim, workAgain);
      // An endpoint that got no slots is tried again when it may have some, unless this process shuts down.
      more = claimed === undefined ? this.draining : await this.followUp(account, endpointId, claimed);
    }
    // This process claims no further deliveries, so another one must do it.
    if (more) await this.wake(account, endpointId);
  }

  /** Claims up to `maxDeliveries` deliveries and starts their attempts. */
  private async claim(account: string, endpointId: string, maxDeliveries: number): Promise<StartedClaim> {
    const { maxConcurrency: defaultConcurrency } = this.settings;
    const limit = new TimeLimit(this.startWithinMs);
    const claimed = await this.store.claim(account, endpointId, {
      defaultConcurrency,
      maxDeliveries,
      leaseMs: this.leaseMs,
    });
    if (claimed.kind === 'ended') return { ...claimed, attempts: [] };
    const { endpoint, deliveries } = claimed;
    return { ...claimed, attempts: deliveries.map((one) => this.start(account, endpoint, one, limit)) };
  }

  /**
   * Does what a claim requires besides the attempts. Returns true if the caller must claim again at once, because
   * more deliveries may be due.
   */
  private async followUp(account: string, endpointId: string, claimed: ClaimResult): Promise<boolean> {
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
   * Starts an attempt. It resolves to true if more deliveries of the endpoint may be due. It never rejects: after an
   * error, the delivery is attempted again when its lease has expired.
   */
  private start(
    account: string,
    endpoint: EndpointForDelivery,
    delivery: ClaimedDelivery,
    limit: TimeLimit,
  ): Promise<boolean> {
    // Release the delivery instead of attempting it if this process began to shut down during the claim. Also release
    // the delivery if the claim took too long, for example because this process was suspended: another process may
    // have delivered this event and later events in that time.
    const signal = this.draining || limit.isOver() ? AbortSignal.abort() : this.aborting.signal;
    const attempt = this.handler.deliver(account, endpoint, delivery, signal).catch((error: unknown) => {
      const { id: deliveryId, endpointId, eventId } = delivery;
      this.logger.error(
        { account, endpointId, eventId, deliveryId, err: error },
        'a delivery attempt failed with an unexpected error; the delivery is attempted again when its lease expires',
      );
      return false;
    });
    this.attempts.add(attempt);
    void attempt.then(() => this.attempts.delete(attempt));
    return attempt;
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
