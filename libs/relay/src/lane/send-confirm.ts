import { BudgetExhaustedError, UpstreamError } from '#upstream';
import type { Lookup, LookOptions } from '../ports.js';
import { confirmationPeriodMs, type RelaySettings } from '../send/relay-settings.js';
import type { RelayStore } from '../send/relay-store.js';
import { MAX_LIST_AGE_MS } from './send-search.js';
import { isOverdue, type SendRecord, type SendState, lastingFields } from '../send/send-record.js';

/** Between two times that a sighting is asked for; before that as much as the send is old. */
const MAX_WAIT_MS = 30_000;
/** Each look that fails doubles the wait for the next one, up to this, in milliseconds. */
const MAX_WAIT_AFTER_FAILURES_MS = 600_000;
/** The look that ends the time is made after this at the soonest. */
const MIN_WAIT_MS = 500;
/** For such a part of the time the polls that happen anyway are trusted to bring the message, sooner if asked. */
const POLL_ONLY_SHARE = 1 / 4;
/** So many sends to one recipient share a look. */
const MAX_SHARED = 200;

type Look = 'complete' | 'in part' | 'failed';

/** Sees to it that the messages of sends that upstream took are found, and tells of those that do not show up in time. */
export class SendConfirm {
  constructor(
    private readonly store: RelayStore,
    private readonly lookup: Lookup,
    private readonly settings: RelaySettings,
  ) {}

  /**
   * Asks once for the messages of the accepted sends to one recipient: one look serves all of them, also those that it is
   * not time for yet. The time that each has counts down only while looks succeed, and it ends with a complete one: an
   * outage is nobody's fault of being late. But whatever fails, it ends.
   * @param due those whose time to be asked for has come
   */
  async confirm(account: string, phoneNumber: string, due: readonly SendRecord[]): Promise<void> {
    const now = await this.store.now(account);
    const begun = await this.begin(account, due, now);
    if (begun.length === 0) return;
    if (begun.every((record) => this.isYoung(record, now))) return this.expedite(account, phoneNumber);
    const others = await this.othersOf(account, phoneNumber, due);
    const waiting = [...begun, ...others].filter((record) => !this.isYoung(record, now));
    const listSince = Math.max(...waiting.map((record) => this.listSince(record, now)));
    const options = { yields: true, ...(listSince === -Infinity ? {} : { listSince }) };
    const look = await this.look(account, phoneNumber, options);
    for (const record of waiting) await this.conclude(account, record, look, now);
  }

  /** Asked for again although the process that looks now may end: whoever does it counts from the last look that did not. */
  private async begin(account: string, due: readonly SendRecord[], now: number): Promise<SendRecord[]> {
    const begun: SendRecord[] = [];
    for (const record of due) {
      if (record.state.status !== 'accepted') continue;
      const next = await this.store.apply(account, record, {
        transition: 'confirmation_rescheduled',
        state: record.state,
        confirmInMs: Math.min(ageOf(record, now), MAX_WAIT_MS),
      });
      if (next !== undefined) begun.push(next);
    }
    return begun;
  }

  private async othersOf(
    account: string,
    phoneNumber: string,
    due: readonly SendRecord[],
  ): Promise<SendRecord[]> {
    const ids = new Set(due.map(({ order }) => order.id));
    const awaiting = await this.store.awaiting(account, phoneNumber, MAX_SHARED);
    return awaiting.filter(
      ({ order, state }) => !ids.has(order.id) && state.status === 'accepted' && !isOverdue(state),
    );
  }

  private isYoung(record: SendRecord, now: number): boolean {
    return ageOf(record, now) < confirmationPeriodMs(record.order, this.settings) * POLL_ONLY_SHARE;
  }

  /** Since when the list should have been read for a look that would end the time of this one. */
  private listSince(record: SendRecord, now: number): number {
    const { leftMs, passedMs } = this.timeOf(record, now);
    return passedMs >= leftMs ? Math.max(begunAtOf(record), now - MAX_LIST_AGE_MS) : -Infinity;
  }

  /** How much time it had left at the last look, and how much passed since, in milliseconds. */
  private timeOf(record: SendRecord, now: number): { leftMs: number; passedMs: number } {
    const { order, state } = record;
    const lookedAt = state.lookLeftMs === undefined ? begunAtOf(record) : state.lookedAt;
    return {
      leftMs: state.lookLeftMs ?? confirmationPeriodMs(order, this.settings),
      // What passes from a look that failed to the next good one does not count.
      passedMs: Math.max(now - (lookedAt ?? now), 0),
    };
  }

  /** One that was bound by the look itself has changed, and refuses it. */
  private async conclude(account: string, record: SendRecord, look: Look, now: number): Promise<void> {
    const { leftMs, passedMs } = this.timeOf(record, now);
    const left = look === 'complete' ? leftMs - passedMs : leftMs;
    const age = ageOf(record, now);
    if ((look === 'complete' && left <= 0) || age >= this.settings.maxAgeMs) {
      const over = { ...lastingFields(record.state), lookLeftMs: 0 };
      await this.store.apply(account, record, { transition: 'unconfirmed', state: over, confirmInMs: null });
      return;
    }
    const waitMs = Math.min(age, MAX_WAIT_MS);
    const next: SendState = { ...record.state, lookLeftMs: left, lookedAt: now };
    if (look !== 'failed') {
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
      await this.lookup.expect(account, phoneNumber);
    } catch (error) {
      // It is asked for again.
      if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
    }
  }

  private async look(account: string, phoneNumber: string, options: LookOptions): Promise<Look> {
    try {
      return (await this.lookup.lookUp(account, phoneNumber, options)) ? 'complete' : 'in part';
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
