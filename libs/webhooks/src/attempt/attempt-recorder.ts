import { pause } from '#platform';
import {
  type DeliveryStore,
  type FinishedAttempt,
  MAX_ATTEMPTS_PER_SETTLEMENT,
  type SettlementResult,
} from '../delivery/delivery-store.js';

/** Wait before another try to record attempts in Redis, in milliseconds. */
const RETRY_MS = 250;

/** A finished attempt that is not recorded yet, and its caller. */
interface WaitingAttempt {
  finished: FinishedAttempt;
  /** Time by `performance.now()` after which a failed write is not retried. */
  until: number;
  resolve: (result: SettlementResult) => void;
  reject: (error: unknown) => void;
}

/**
 * Records finished attempts in batches, one at a time for each endpoint: all attempts that ended in one turn of the event
 * loop, or while the previous batch was written. A busy endpoint therefore costs Redis few scripts, and an attempt of
 * another endpoint does not wait. The number of waiting attempts is bounded, because each still occupies its slot.
 */
export class AttemptRecorder {
  /** The attempts that wait, by account and endpoint. An entry exists while its attempts are being written. */
  private readonly waiting = new Map<string, WaitingAttempt[]>();

  constructor(private readonly store: Pick<DeliveryStore, 'settleAll'>) {}

  /**
   * Records an attempt. Retries a failed write until the time `until` (by `performance.now()`), because an attempt that is
   * not recorded is made again. Of the attempts of one batch, only the last one returned has `hasMore` set.
   */
  record(account: string, finished: FinishedAttempt, until: number): Promise<SettlementResult> {
    return new Promise((resolve, reject) => {
      const { endpointId } = finished.delivery;
      const key = `${account}\n${endpointId}`;
      const one = { finished, until, resolve, reject };
      const others = this.waiting.get(key);
      if (others !== undefined) {
        others.push(one);
        return;
      }
      this.waiting.set(key, [one]);
      setImmediate(() => void this.writeAll(key, account, endpointId));
    });
  }

  /** Writes the attempts of an endpoint until none waits. Never rejects. */
  private async writeAll(key: string, account: string, endpointId: string): Promise<void> {
    for (let all = this.waiting.get(key) ?? []; all.length > 0;) {
      const batch = all.splice(0, MAX_ATTEMPTS_PER_SETTLEMENT);
      try {
        await this.write(account, endpointId, batch);
      } catch (error) {
        const isOver = ({ until }: WaitingAttempt): boolean => performance.now() + RETRY_MS > until;
        for (const { reject } of batch.filter(isOver)) reject(error);
        all = [...batch.filter((one) => !isOver(one)), ...all];
        this.waiting.set(key, all);
        if (all.length > 0) await pause(RETRY_MS);
      }
    }
    this.waiting.delete(key);
  }

  private async write(account: string, endpointId: string, batch: readonly WaitingAttempt[]): Promise<void> {
    const { results, hasMore } = await this.store.settleAll(
      account,
      endpointId,
      batch.map(({ finished }) => finished),
    );
    if (results.length !== batch.length) throw new Error('The script returned too few results.');
    for (const [n, result] of results.entries()) {
      // One caller claims the further deliveries, after the others have freed their slots.
      batch[n]?.resolve({ ...result, hasMore: hasMore && n === batch.length - 1 });
    }
  }
}
