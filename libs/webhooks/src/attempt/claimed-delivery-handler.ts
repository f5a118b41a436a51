import { type Logger, traceIdLogField } from '#platform';
import { AttemptRecorder } from './attempt-recorder.js';
import type { AttemptResult, DeliveryAttempter } from './delivery-attempter.js';
import type { FailingEndpointDisabler } from './failing-endpoint-disabler.js';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import { tryToWakeWorker } from '../delivery/wake-worker.js';
import type { ClaimedDelivery, DeliveryStore, SettlementResult } from '../delivery/delivery-store.js';
import { describeDeliveryDecision, deliveryStateAfter } from './settlement.js';
import type { EndpointForDelivery } from '../endpoint/stored-endpoint.js';

/**
 * Max delay of a wake-up job, in milliseconds. A longer delay needs no wake-up job, because the periodic call of
 * `DeliveryRunner.reconcile` wakes a worker soon enough.
 */
export const MAX_HINT_DELAY_MS = 60_000;

/**
 * Makes one attempt of a claimed delivery and records it. Depending on the result, disables the endpoint or wakes a
 * worker for the retry.
 */
export class ClaimedDeliveryHandler {
  private readonly recorder: AttemptRecorder;

  /** @param recordWithinMs max time from the end of an attempt to its record, in milliseconds */
  constructor(
    private readonly store: DeliveryStore,
    private readonly attempter: DeliveryAttempter,
    private readonly disabler: FailingEndpointDisabler,
    private readonly jobs: DeliveryJobs,
    private readonly recordWithinMs: number,
    private readonly logger: Logger,
  ) {
    this.recorder = new AttemptRecorder(store);
  }

  /**
   * Makes one attempt and records it. An aborted attempt is not recorded: the delivery is released instead.
   * @returns true if more deliveries of the endpoint may be due
   */
  async deliver(
    account: string,
    endpoint: EndpointForDelivery,
    delivery: ClaimedDelivery,
    signal: AbortSignal,
  ): Promise<boolean> {
    let result: AttemptResult;
    try {
      result = await this.attempter.attempt(endpoint, delivery, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      await this.returnDelivery(account, delivery);
      return false;
    }
    const until = performance.now() + this.recordWithinMs;
    if (result.decision.kind === 'gone')
      result = {
        ...result,
        decision: await this.disabler.disableGone(account, endpoint, result.decision, until),
      };
    const { attempt, decision, throttling } = result;
    const settlement = deliveryStateAfter(decision);
    const settled = await this.recorder.record(account, { delivery, attempt, settlement, throttling }, until);
    this.logAttempt(account, delivery, result, settled);
    await this.disabler.endIfFailing(account, endpoint, delivery, result, settled);
    if (decision.kind === 'retry' && decision.waitMs <= MAX_HINT_DELAY_MS) {
      await this.wake(account, delivery.endpointId, decision.waitMs);
    }
    return settled.hasMore;
  }

  private async returnDelivery(account: string, delivery: ClaimedDelivery): Promise<void> {
    await this.store.release(account, delivery);
    await this.wake(account, delivery.endpointId);
  }

  private wake(account: string, endpointId: string, delayMs = 0): Promise<void> {
    return tryToWakeWorker(this.jobs, this.logger, account, [endpointId], delayMs);
  }

  private logAttempt(
    account: string,
    { id, endpointId, eventId, attempts, trace }: ClaimedDelivery,
    { attempt, decision }: AttemptResult,
    { isRecorded }: SettlementResult,
  ): void {
    if (!this.logger.isLevelEnabled('info')) return;
    this.logger.info(
      {
        account,
        endpointId,
        eventId,
        deliveryId: id,
        ...traceIdLogField(trace),
        attempt: attempts + 1,
        status: attempt.statusCode,
        error: attempt.error,
        durationMs: attempt.durationMs,
        decision: isRecorded ? describeDeliveryDecision(decision) : 'lease lost',
      },
      'delivery.attempted',
    );
  }
}
