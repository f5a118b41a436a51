import { type Logger, pause } from '#platform';
import type { AttemptResult } from './delivery-attempter.js';
import type { ClaimedDelivery, DeliveryStore, SettlementResult } from '../delivery/delivery-store.js';
import type { Attempt } from '../delivery/delivery.js';
import type { DeliveryDecision } from '../delivery/retry-policy.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import type { EndpointForDelivery } from '../endpoint/stored-endpoint.js';

/**
 * Wait before the next try to disable an endpoint that replied 410 Gone, in milliseconds. Used while Redis fails.
 */
const RECORD_RETRY_MS = 250;

/**
 * Time for which the attempts of one delivery must have failed before this delivery can disable its endpoint, in
 * milliseconds. Otherwise, an endpoint with few events could be disabled although its next retry would succeed: its
 * previous failure may be days ago, and it may only be restarting now. The time is far shorter than the retry
 * schedule, because an event may be deleted from the log before the last retry of its delivery.
 */
const MIN_OWN_FAILURE_MS = 3_600_000;

/** Disables endpoints that replied 410 Gone, and endpoints whose attempts have all failed for too long. */
export class FailingEndpointDisabler {
  /** @param disableAfterMs time for which all attempts must have failed, in milliseconds */
  constructor(
    private readonly store: Pick<DeliveryStore, 'endPending' | 'find'>,
    private readonly endpoints: Pick<EndpointStore, 'disable' | 'find'>,
    private readonly disableAfterMs: number,
    private readonly logger: Logger,
  ) {}

  /**
   * Disables an endpoint that replied 410 Gone. Must be called before the attempt is recorded. Otherwise a crash
   * between the two steps could leave the endpoint enabled. If the endpoint was changed since the delivery was
   * claimed, and is enabled now (for example, it was disabled and enabled again), the reply may no longer apply.
   * The endpoint then stays enabled, and the returned decision is to retry the delivery at once. Otherwise, returns
   * the given decision.
   * @param decision the decision after the attempt
   * @param until time, by `performance.now()`, until which a failed write to the store is repeated. After that, the
   * error of the write is thrown
   */
  async disableGone(
    account: string,
    { id, revision }: EndpointForDelivery,
    decision: Extract<DeliveryDecision, { kind: 'gone' }>,
    until: number,
  ): Promise<DeliveryDecision> {
    for (;;) {
      try {
        if (await this.endpoints.disable(account, id, decision.reason, { revision })) return decision;
        const current = await this.endpoints.find(account, id);
        return current?.enabled === true ? { kind: 'retry', waitMs: 0 } : decision;
      } catch (error) {
        if (performance.now() + RECORD_RETRY_MS > until) throw error;
        await pause(RECORD_RETRY_MS);
      }
    }
  }

  /**
   * Disables an endpoint whose attempts have all failed for too long, and ends its pending deliveries. Also ends the
   * pending deliveries of an endpoint that {@link disableGone} disabled. An error is only logged, because the attempt
   * is already recorded. The next failed attempt, or a periodic task, tries again.
   */
  async endIfFailing(
    account: string,
    endpoint: Pick<EndpointForDelivery, 'id' | 'url'>,
    delivery: ClaimedDelivery,
    result: AttemptResult,
    settled: SettlementResult,
  ): Promise<void> {
    try {
      if (await this.disableIfFailing(account, endpoint, delivery, result, settled))
        await this.store.endPending(account, endpoint.id);
    } catch (error) {
      this.logger.warn(
        { account, endpointId: endpoint.id, err: error },
        'could not disable a failing webhook or end its pending deliveries; a worker tries again',
      );
    }
  }

  /**
   * Disables an endpoint whose attempts have all failed for too long. Returns true if the endpoint was disabled because
   * of the given attempt. Also returns true after the reply 410 Gone: {@link disableGone} has then already disabled
   * the endpoint. A delivery that has only begun to fail disables nothing; see {@link MIN_OWN_FAILURE_MS}.
   */
  private async disableIfFailing(
    account: string,
    { id, url }: Pick<EndpointForDelivery, 'id' | 'url'>,
    delivery: ClaimedDelivery,
    { attempt, decision }: AttemptResult,
    { failingMs }: SettlementResult,
  ): Promise<boolean> {
    if (decision.kind === 'gone') return true;
    if (failingMs < this.disableAfterMs) return false;
    if (decision.kind !== 'failed' && !(await this.hasFailedForLong(account, delivery, attempt)))
      return false;
    const last = attempt.error ?? `status ${String(attempt.statusCode)}`;
    const hours = (failingMs / 3_600_000).toFixed(1);
    const reason = `All attempts failed for ${hours} hours. Last error: ${last}.`;
    return this.endpoints.disable(account, id, reason, { url, failingMs: this.disableAfterMs });
  }

  /**
   * Returns true if the attempts of the delivery itself have failed for {@link MIN_OWN_FAILURE_MS}, or for
   * `disableAfterMs` if that is shorter.
   */
  private async hasFailedForLong(
    account: string,
    { id, attempts: earlier }: ClaimedDelivery,
    { at }: Attempt,
  ): Promise<boolean> {
    const attempts = (await this.store.find(account, id))?.attempts ?? [];
    const [first] = attempts.slice(-(earlier + 1));
    return (
      first !== undefined &&
      Date.parse(at) - Date.parse(first.at) >= Math.min(this.disableAfterMs, MIN_OWN_FAILURE_MS)
    );
  }
}
