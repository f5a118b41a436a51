import { DeadlineError, type Logger, pause, withDeadline } from '#platform';
import { AttemptPlaces } from './attempt-places.js';
import type { Backlog } from '../dispatch/backlog.js';
import type { AttemptResult, Courier } from './courier.js';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import type { ClaimedDelivery, DeliveryStore, Settled } from '../delivery/delivery-store.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { describeDecision, settlementOf } from './settlement.js';
import { type DeliveryTarget, readTarget } from '../endpoint/stored-endpoint.js';

export interface PumpSettings {
  /** Requests in flight to one endpoint, over all processes, unless it says otherwise. */
  maxConcurrency: number;
  /** An endpoint that has only failed for so long is disabled, in ms. */
  disableAfterMs: number;
  /** How long one attempt may take, in ms. */
  timeoutMs: number;
  /** Attempts that one process has under way, over all endpoints; default 1,000. */
  places?: number;
  /** How long after an attempt's time its delivery is given to another process, in ms; default 15 s. */
  leaseMarginMs?: number;
}

const DEFAULT_PLACES = 1_000;
const DEFAULT_LEASE_MARGIN_MS = 15_000;
const MOST_CLAIMED = 50;
/** How long a look waits for a place before it leaves the endpoint to the reconciler. */
const PATIENCE_MS = 1_000;
const RECORD_AGAIN_MS = 250;
/** For longer waits the reconciler is prompt enough. */
const LONGEST_HINT_MS = 60_000;
const ABORTED_WITHIN_MS = 3_000;

/** One look at what an endpoint has due; whoever asks meanwhile makes it look again. */
interface Look {
  asked: number;
  done: Promise<void>;
}

/**
 * Carries deliveries from an endpoint's backlog to its receiver. All of its state is in the store: any number of
 * processes may work on one endpoint, and each may end at any instruction.
 */
export class DeliveryPump {
  private readonly places: AttemptPlaces;
  private readonly leaseMs: number;
  private readonly recordWithinMs: number;
  private readonly looks = new Map<string, Look>();
  /** The attempts under way, each with what stops it. */
  private readonly underWay = new Map<AbortController, Promise<void>>();
  private draining = false;

  constructor(
    private readonly store: DeliveryStore,
    private readonly endpoints: Pick<EndpointStore, 'disable'>,
    private readonly backlog: Pick<Backlog, 'refill'>,
    private readonly courier: Courier,
    private readonly jobs: DeliveryJobs,
    private readonly settings: PumpSettings,
    private readonly logger: Logger,
  ) {
    const margin = settings.leaseMarginMs ?? DEFAULT_LEASE_MARGIN_MS;
    this.places = new AttemptPlaces(settings.places ?? DEFAULT_PLACES);
    this.leaseMs = settings.timeoutMs + margin;
    this.recordWithinMs = (margin * 2) / 3;
  }

  /**
   * Starts attempts of what an endpoint has due, as far as it and this process have slots free. Resolves when they are
   * started, not when they end: what they free is filled again by the pump itself.
   */
  work(account: string, endpointId: string): Promise<void> {
    const key = `${account}\n${endpointId}`;
    const running = this.looks.get(key);
    if (running !== undefined) {
      running.asked++;
      return running.done;
    }
    const look: Look = { asked: 1, done: Promise.resolve() };
    this.looks.set(key, look);
    look.done = this.look(key, look, account, endpointId);
    return look.done;
  }

  /** Wakes every endpoint that has something due: for lost hints and dead workers. To be called every few seconds. */
  async reconcile(account: string): Promise<void> {
    for await (const endpointIds of this.store.overdue(account)) await this.jobs.wake(account, endpointIds);
  }

  /**
   * For the end of the process: takes nothing new, lets what is under way end for up to `deadlineMs`, then stops the
   * rest and gives it back, due at once for another process.
   */
  async drain(deadlineMs: number): Promise<void> {
    this.draining = true;
    if (await this.quiet(deadlineMs)) return;
    for (const stop of this.underWay.keys()) stop.abort();
    if (await this.quiet(ABORTED_WITHIN_MS)) return;
    this.logger.warn({ attempts: this.underWay.size }, 'delivery.left_to_leases');
  }

  private async look(key: string, look: Look, account: string, endpointId: string): Promise<void> {
    try {
      for (let answered = 0; answered < look.asked && !this.draining;) {
        answered = look.asked;
        await this.fill(account, endpointId);
      }
    } finally {
      // In the same step as the last question whether anybody asked: who asks from now on starts a look of its own.
      this.looks.delete(key);
    }
  }

  private async fill(account: string, endpointId: string): Promise<void> {
    for (let more = true; more && !this.draining;) {
      const room = await this.places.take(MOST_CLAIMED, PATIENCE_MS);
      if (room === 0) return;
      more = await this.claim(account, endpointId, room);
    }
  }

  /** Starts attempts on up to `room` places that were taken; whether there is more. */
  private async claim(account: string, endpointId: string, room: number): Promise<boolean> {
    let started = 0;
    try {
      const { maxConcurrency: slots } = this.settings;
      const claimed = await this.store.claim(account, endpointId, { slots, room, leaseMs: this.leaseMs });
      if (claimed.kind === 'ended') {
        await this.store.endPending(account, endpointId);
        return false;
      }
      const endpoint = readTarget(claimed.endpoint);
      for (const delivery of claimed.deliveries) {
        this.start(account, endpoint, delivery);
        started++;
      }
      const { waitMs = 0, missed, canRefill } = claimed;
      if (missed > 0) this.logger.warn({ account, endpointId, missed }, 'delivery.missed');
      if (waitMs > 0 && waitMs <= LONGEST_HINT_MS) await this.hint(account, endpointId, waitMs);
      if (canRefill) await this.backlog.refill(account, endpointId);
      return claimed.more || canRefill;
    } finally {
      this.places.giveBack(room - started);
    }
  }

  private start(account: string, endpoint: DeliveryTarget, delivery: ClaimedDelivery): void {
    const stop = new AbortController();
    // A drain that began while this was being claimed wants it given back.
    if (this.draining) stop.abort();
    const task = this.run(account, endpoint, delivery, stop.signal).finally(() => this.underWay.delete(stop));
    this.underWay.set(stop, task);
  }

  /** Never rejects: whatever fails here is repeated when the lease ends. */
  private async run(
    account: string,
    endpoint: DeliveryTarget,
    delivery: ClaimedDelivery,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      let more: boolean;
      try {
        more = await this.deliver(account, endpoint, delivery, signal);
      } finally {
        this.places.giveBack(1);
      }
      if (more) await this.work(account, endpoint.id);
    } catch (error) {
      const { id: deliveryId, endpointId, eventId } = delivery;
      this.logger.error({ account, endpointId, eventId, deliveryId, err: error }, 'delivery.left_to_lease');
    }
  }

  private async deliver(
    account: string,
    endpoint: DeliveryTarget,
    delivery: ClaimedDelivery,
    signal: AbortSignal,
  ): Promise<boolean> {
    let result: AttemptResult;
    try {
      result = await this.courier.attempt(endpoint, delivery, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      await this.giveBack(account, delivery);
      return false;
    }
    const settled = await this.record(account, endpoint, delivery, result);
    this.report(account, delivery, result, settled);
    const { decision } = result;
    if (await this.isDisabledBy(account, endpoint, result, settled)) {
      await this.store.endPending(account, delivery.endpointId);
    }
    if (decision.kind === 'retry' && decision.waitMs <= LONGEST_HINT_MS) {
      await this.hint(account, delivery.endpointId, decision.waitMs);
    }
    return settled.more;
  }

  /** Whether the endpoint was disabled for this attempt: for good by its receiver, or as the last of nothing but failures. */
  private async isDisabledBy(
    account: string,
    { id, url }: DeliveryTarget,
    { attempt, decision }: AttemptResult,
    { failingMs }: Settled,
  ): Promise<boolean> {
    if (decision.kind === 'gone') return true;
    if (failingMs < this.settings.disableAfterMs) return false;
    const last = attempt.error ?? `status ${String(attempt.statusCode)}`;
    const hours = (failingMs / 3_600_000).toFixed(1);
    const reason = `Nothing but failures for ${hours} hours; the last: ${last}.`;
    return this.endpoints.disable(account, id, reason, url);
  }

  /** Insists while the lease holds: an attempt that is not recorded is made again. */
  private async record(
    account: string,
    { id, url }: DeliveryTarget,
    delivery: ClaimedDelivery,
    { attempt, decision, strain }: AttemptResult,
  ): Promise<Settled> {
    const end = performance.now() + this.recordWithinMs;
    for (;;) {
      try {
        // First, so that no crash leaves an endpoint enabled whose 410 is recorded.
        if (decision.kind === 'gone') {
          await this.endpoints.disable(account, id, decision.reason, url);
        }
        return await this.store.settle(account, delivery, attempt, settlementOf(decision), strain);
      } catch (error) {
        if (performance.now() + RECORD_AGAIN_MS > end) throw error;
        await pause(RECORD_AGAIN_MS);
      }
    }
  }

  private async giveBack(account: string, delivery: ClaimedDelivery): Promise<void> {
    await this.store.release(account, delivery);
    await this.hint(account, delivery.endpointId, 0);
  }

  private async hint(account: string, endpointId: string, delayMs: number): Promise<void> {
    try {
      await this.jobs.wake(account, [endpointId], delayMs);
    } catch (error) {
      // The state says when it is due: the reconciler finds it.
      this.logger.warn({ account, endpointId, err: error }, 'delivery.hint_lost');
    }
  }

  private report(
    account: string,
    { id, endpointId, eventId, attempts }: ClaimedDelivery,
    { attempt, decision }: AttemptResult,
    { recorded }: Settled,
  ): void {
    this.logger.info(
      {
        account,
        endpointId,
        eventId,
        deliveryId: id,
        attempt: attempts + 1,
        status: attempt.statusCode,
        error: attempt.error,
        durationMs: attempt.durationMs,
        decision: recorded ? describeDecision(decision) : 'lease lost',
      },
      'delivery.attempted',
    );
  }

  /** Whether all looks and attempts ended within a time. */
  private async quiet(deadlineMs: number): Promise<boolean> {
    const end = performance.now() + deadlineMs;
    while (this.looks.size > 0 || this.underWay.size > 0) {
      const looks = [...this.looks.values()].map(({ done }) => done);
      const all = Promise.allSettled([...looks, ...this.underWay.values()]);
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
