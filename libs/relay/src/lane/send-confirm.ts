import { BudgetExhaustedError, UpstreamError } from '#upstream';
import type { Lookup, LookUpOptions } from '../ports.js';
import { confirmationPeriodMs, type RelaySettings } from '../send/relay-settings.js';
import type { RelayStore } from '../send/relay-store.js';
import { MAX_LIST_AGE_MS } from './send-search.js';
import { isOverdue, type SendRecord, type SendState, lastingFields } from '../send/send-record.js';

/** Maximum wait between two checks, in milliseconds. Below the maximum, the wait equals the age of the send. */
const MAX_WAIT_MS = 30_000;
/** Maximum wait after failed look-ups, in milliseconds. Each failure doubles the wait. */
const MAX_WAIT_AFTER_FAILURES_MS = 600_000;
/** Minimum wait before the last look-up, in milliseconds. */
const MIN_WAIT_MS = 500;
/** Share of the confirmation period in which no look-up is made: the poll of the contact is only expedited. */
const POLL_ONLY_SHARE = 1 / 4;
/** Maximum number of sends to one recipient that share a look-up. */
const MAX_SHARED = 200;

type LookUpResult = 'complete' | 'partial' | 'failed';

/** Finds the messages of accepted sends, and reports sends whose message does not appear in time. */
export class SendConfirm {
  constructor(
    private readonly store: RelayStore,
    private readonly lookup: Lookup,
    private readonly settings: RelaySettings,
  ) {}

  /**
   * Checks once for the messages of the accepted sends to one recipient. All these sends share one look-up, including
   * sends that are not due yet.
   *
   * The confirmation period of a send counts down only while look-ups succeed, and ends with a complete look-up. An
   * outage does not count. The maximum age ends the period in any case.
   * @param due sends whose next check is due
   */
  async confirm(account: string, phoneNumber: string, due: readonly SendRecord[]): Promise<void> {
    const now = await this.store.now(account);
    const rescheduled = await this.reschedule(account, due, now);
    if (rescheduled.length === 0) return;
    if (rescheduled.every((record) => this.isPollEnough(record, now)))
      return this.expedite(account, phoneNumber);
    const others = await this.otherAcceptedSends(account, phoneNumber, due);
    const waiting = [...rescheduled, ...others].filter((record) => !this.isPollEnough(record, now));
    const minListReadAt = Math.max(...waiting.map((record) => this.minListReadAt(record, now)));
    const options = { isLowPriority: true, ...(minListReadAt === -Infinity ? {} : { minListReadAt }) };
    const result = await this.lookUp(account, phoneNumber, options);
    for (const record of waiting) await this.recordResult(account, record, result, now);
  }

  /**
   * Sets the next check before the look-up starts, because this process may end during the look-up. The countdown
   * continues from the last successful look-up.
   */
  private async reschedule(account: string, due: readonly SendRecord[], now: number): Promise<SendRecord[]> {
    const rescheduled: SendRecord[] = [];
    for (const record of due) {
      if (record.state.status !== 'accepted') continue;
      const next = await this.store.apply(account, record, {
        transition: 'confirmation_rescheduled',
        state: record.state,
        confirmInMs: Math.min(ageOf(record, now), MAX_WAIT_MS),
      });
      if (next !== undefined) rescheduled.push(next);
    }
    return rescheduled;
  }

  private async otherAcceptedSends(
    account: string,
    phoneNumber: string,
    due: readonly SendRecord[],
  ): Promise<SendRecord[]> {
    const ids = new Set(due.map(({ order }) => order.id));
    const awaiting = await this.store.sendsAwaitingMessage(account, phoneNumber, MAX_SHARED);
    return awaiting.filter(
      ({ order, state }) => !ids.has(order.id) && state.status === 'accepted' && !isOverdue(state),
    );
  }

  private isPollEnough(record: SendRecord, now: number): boolean {
    return ageOf(record, now) < confirmationPeriodMs(record.order, this.settings) * POLL_ONLY_SHARE;
  }

  /** Returns the minimum read time of the contact list if this look-up can end the send's period, else -Infinity. */
  private minListReadAt(record: SendRecord, now: number): number {
    const { leftMs, passedMs } = this.countdownOf(record, now);
    return passedMs >= leftMs ? Math.max(begunAtOf(record), now - MAX_LIST_AGE_MS) : -Infinity;
  }

  /** Returns the time left at the last look-up, and the time passed since, in milliseconds. */
  private countdownOf(record: SendRecord, now: number): { leftMs: number; passedMs: number } {
    const { order, state } = record;
    const lookedAt = state.lookLeftMs === undefined ? begunAtOf(record) : state.lookedAt;
    return {
      leftMs: state.lookLeftMs ?? confirmationPeriodMs(order, this.settings),
      // The time between a failed look-up and the next successful one does not count.
      passedMs: Math.max(now - (lookedAt ?? now), 0),
    };
  }

  /**
   * Writes the result of a look-up. The store refuses the change if the look-up itself bound the send to its message.
   */
  private async recordResult(
    account: string,
    record: SendRecord,
    result: LookUpResult,
    now: number,
  ): Promise<void> {
    const { leftMs, passedMs } = this.countdownOf(record, now);
    const left = result === 'complete' ? leftMs - passedMs : leftMs;
    const age = ageOf(record, now);
    if ((result === 'complete' && left <= 0) || age >= this.settings.maxAgeMs) {
      const ended = { ...lastingFields(record.state), lookLeftMs: 0 };
      await this.store.apply(account, record, { transition: 'unconfirmed', state: ended, confirmInMs: null });
      return;
    }
    const waitMs = Math.min(age, MAX_WAIT_MS);
    const next: SendState = { ...record.state, lookLeftMs: left, lookedAt: now };
    if (result !== 'failed') {
      delete next.looks;
      const confirmInMs = Math.min(waitMs, Math.max(left, MIN_WAIT_MS));
      await this.store.apply(account, record, {
        transition: 'confirmation_rescheduled',
        state: next,
        confirmInMs,
      });
      return;
    }
    delete next.lookedAt;
    next.looks = (record.state.looks ?? 0) + 1;
    const confirmInMs = Math.min(waitMs * 2 ** Math.min(next.looks, 10), MAX_WAIT_AFTER_FAILURES_MS);
    await this.store.apply(account, record, {
      transition: 'confirmation_rescheduled',
      state: next,
      confirmInMs,
    });
  }

  private async expedite(account: string, phoneNumber: string): Promise<void> {
    try {
      await this.lookup.expeditePoll(account, phoneNumber);
    } catch (error) {
      // The next check tries again.
      if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
    }
  }

  private async lookUp(account: string, phoneNumber: string, options: LookUpOptions): Promise<LookUpResult> {
    try {
      return (await this.lookup.lookUp(account, phoneNumber, options)) ? 'complete' : 'partial';
    } catch (error) {
      if (error instanceof UpstreamError || error instanceof BudgetExhaustedError) return 'failed';
      throw error;
    }
  }
}

function begunAtOf({ order, state }: SendRecord): number {
  return state.begunAt ?? order.createdAt;
}

function ageOf(record: SendRecord, now: number): number {
  return Math.max(now - begunAtOf(record), 0);
}
