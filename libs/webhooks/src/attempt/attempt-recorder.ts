import { pause } from '#platform';
import {
  type DeliveryStore,
  type FinishedAttempt,
  MAX_ATTEMPTS_RECORDED_AT_ONCE,
  type SettlementResult,
} from '../delivery/delivery-store.js';

/** Wait before a failed write of attempts to Redis is retried, in milliseconds. */
const RETRY_MS = 250;

/** A finished attempt that is not recorded yet. `resolve` and `reject` settle the promise that `record` returned. */
interface WaitingAttempt {
  finished: FinishedAttempt;
  /** Time by `performance.now()` after which a failed write is not retried. */
  until: number;
  resolve: (result: SettlementResult) => void;
  reject: (error: unknown) => void;
}

/**
 * Records finished attempts in batches, because Redis would need more time for one script call per attempt. Each
 * account has one batch in progress at a time. A batch contains the attempts that ended in the same turn of the event
 * loop, or while the previous batch was written. The number of waiting attempts is limited, because each attempt
 * keeps its slot (see `AttemptSlots`) until it is recorded.
 */
export class AttemptRecorder {
  /**
   * The attempts that wait to be written, by account. While the map contains a list for an account, even an empty
   * list, a write is scheduled or in progress.
   */
  private readonly waiting = new Map<string, WaitingAttempt[]>();

  constructor(private readonly store: Pick<DeliveryStore, 'settleAll'>) {}

  /**
   * Records an attempt. Retries a failed write until the time `until` (by `performance.now()`), because the receiver
   * gets the event again if the attempt is not recorded. If the last of these writes fails, rejects with its error.
   */
  record(account: string, finished: FinishedAttempt, until: number): Promise<SettlementResult> {
    return new Promise((resolve, reject) => {
      const one = { finished, until, resolve, reject };
      const others = this.waiting.get(account);
      if (others !== undefined) {
        others.push(one);
        return;
      }
      this.waiting.set(account, [one]);
      setImmediate(() => void this.writeAll(account));
    });
  }

  /**
   * Writes the attempts of an account until no attempt waits. Never rejects. After a failed write, the next batch
   * contains fewer attempts, so that one attempt that can never be recorded does not block the other attempts.
   */
  private async writeAll(account: string): Promise<void> {
    const all = this.waiting.get(account) ?? [];
    for (let size = MAX_ATTEMPTS_RECORDED_AT_ONCE; all.length > 0;) {
      const batch = all.splice(0, size);
      try {
        await this.write(account, batch);
        size = Math.min(size * 2, MAX_ATTEMPTS_RECORDED_AT_ONCE);
      } catch (error) {
        size = Math.max(Math.floor(batch.length / 2), 1);
        const latest = performance.now() + RETRY_MS;
        for (const one of batch) {
          if (latest > one.until) one.reject(error);
          else all.push(one);
        }
        await pause(RETRY_MS);
      }
    }
    this.waiting.delete(account);
  }

  private async write(account: string, batch: readonly WaitingAttempt[]): Promise<void> {
    const results = await this.store.settleAll(
      account,
      batch.map(({ finished }) => finished),
    );
    if (results.length !== batch.length) throw new Error('The script returned too few results.');
    for (const [n, result] of results.entries()) batch[n]?.resolve(result);
  }
}
