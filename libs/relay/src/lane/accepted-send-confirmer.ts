import { BudgetExhaustedError, UpstreamError } from '#upstream';
import { SimilarMessageCollector } from '../match/similar-message-collector.js';
import type { Lookup } from '../ports.js';
import { confirmationPeriodMs, type RelaySettings } from '../send/relay-settings.js';
import type { RelayStore } from '../send/relay-store.js';
import { type LookupResult, runLookup, appendLookupWithCandidates } from './lookup-result.js';
import { MAX_CONTACT_LIST_AGE_FOR_LOOKUP_MS } from './send-lookup-runner.js';
import {
  isMessageOfSendOverdue,
  type SendRecord,
  type SendState,
  fieldsKeptAcrossTransitions,
} from '../send/send-record.js';

/**
 * Maximum wait between two checks for a send's message while the recipient's messages can be read, in milliseconds.
 * Up to this maximum, the wait is as long as the time since the POST. The wait before the last check may be shorter.
 */
const MAX_WAIT_MS = 30_000;
/**
 * Maximum wait before the next check if the recipient's messages could not be read, in milliseconds. Each further
 * failure doubles the wait.
 */
const MAX_WAIT_AFTER_FAILURES_MS = 600_000;
/** Minimum wait before the last check for a send's message, in milliseconds. */
const MIN_WAIT_MS = 500;
/**
 * Length of the first part of the confirmation period, as a fraction of the period. During this part, a check only
 * requests an earlier poll of the recipient's messages, and makes no look-up.
 */
const POLL_ONLY_SHARE = 1 / 4;
/** Maximum number of recipients whose messages are read in parallel. */
const MAX_PARALLEL = 10;
/** Time after which one call of `confirm` starts no further reads, in milliseconds. */
const MAX_ROUND_MS = 3_000;
/**
 * Maximum number of further sends to one recipient that are checked together with the due sends, with the same read
 * of the recipient's messages.
 */
const MAX_SHARED = 200;

/**
 * Checks whether the messages of accepted sends appear at upstream, and reports sends whose message does not appear
 * in time.
 */
export class AcceptedSendConfirmer {
  constructor(
    private readonly store: RelayStore,
    private readonly lookup: Lookup,
    private readonly settings: RelaySettings,
  ) {}

  /**
   * Checks once whether the messages of accepted sends have appeared. After {@link MAX_ROUND_MS}, starts no further
   * reads: the checks of the remaining sends stay due.
   * @param due sends whose next check is due, by recipient
   */
  async confirm(account: string, due: ReadonlyMap<string, readonly SendRecord[]>): Promise<void> {
    const deadline = performance.now() + MAX_ROUND_MS;
    const now = await this.store.now(account);
    const isPollEnough = ([, records]: [string, readonly SendRecord[]]): boolean =>
      records.every((record) => this.isPollEnough(record, now));
    await this.confirmRecipients(account, [...due].filter(isPollEnough), now);
    const others = [...due].filter((entry) => !isPollEnough(entry));
    for (let i = 0; i < others.length && performance.now() < deadline; i += MAX_PARALLEL)
      await this.confirmRecipients(
        account,
        others.slice(i, i + MAX_PARALLEL),
        i === 0 ? now : await this.store.now(account),
      );
  }

  /** Checks in parallel whether the messages of the accepted sends to these recipients have appeared. */
  private async confirmRecipients(
    account: string,
    due: readonly [phoneNumber: string, records: readonly SendRecord[]][],
    now: number,
  ): Promise<void> {
    const sends = due.flatMap(([, records]) => records);
    const rescheduled = new Set(await this.reschedule(account, sends, now));
    await Promise.all(
      due.map(async ([phoneNumber, records]) => {
        const checked = records.filter((record) => rescheduled.has(record));
        if (checked.length > 0) await this.confirmRecipient(account, phoneNumber, checked, now);
      }),
    );
  }

  /**
   * Checks whether the messages of the accepted sends to one recipient have appeared. If all due sends are in the
   * first part of their confirmation periods ({@link POLL_ONLY_SHARE}), only requests an earlier poll. Otherwise, all
   * sends after this part share one read of the recipient's messages, even sends whose check is not due yet.
   *
   * A send's confirmation period counts down only while the recipient's messages can be read completely. The checks
   * of a send end with the first complete read after the confirmation period, or with a read that is not complete, if
   * at least `SEND_MAX_AGE_SECONDS` have passed since the POST.
   * @param due sends whose check was due
   */
  private async confirmRecipient(
    account: string,
    phoneNumber: string,
    due: readonly SendRecord[],
    now: number,
  ): Promise<void> {
    if (due.every((record) => this.isPollEnough(record, now))) return this.expedite(account, phoneNumber);
    const others = await this.otherAcceptedSends(account, phoneNumber, due);
    const waiting = [...due, ...others].filter((record) => !this.isPollEnough(record, now));
    const minListReadAt = Math.max(...waiting.map((record) => this.minListReadAt(record, now)));
    const reads = new SimilarMessageCollector(waiting);
    const options = { isLowPriority: true, reads, ...(minListReadAt === -Infinity ? {} : { minListReadAt }) };
    const result = await runLookup(this.lookup, account, phoneNumber, options);
    for (const record of waiting) await this.recordResult(account, record, result, reads, now);
  }

  /**
   * Schedules the next check of accepted sends. Called before the recipient's messages are read, because this process
   * may die during the read.
   */
  private reschedule(account: string, due: readonly SendRecord[], now: number): Promise<SendRecord[]> {
    const accepted = due.filter(({ state }) => state.status === 'accepted');
    return this.store.rescheduleChecksOfAcceptedSends(
      account,
      accepted.map((record) => ({ record, inMs: Math.min(ageOf(record, now), MAX_WAIT_MS) })),
    );
  }

  private async otherAcceptedSends(
    account: string,
    phoneNumber: string,
    due: readonly SendRecord[],
  ): Promise<SendRecord[]> {
    const ids = new Set(due.map(({ order }) => order.id));
    const awaiting = await this.store.sendsAwaitingMessage(account, phoneNumber, MAX_SHARED);
    return awaiting.filter(
      ({ order, state }) =>
        !ids.has(order.id) && state.status === 'accepted' && !isMessageOfSendOverdue(state),
    );
  }

  private isPollEnough(record: SendRecord, now: number): boolean {
    if (begunAtOf(record) > now) return false;
    return ageOf(record, now) < confirmationPeriodMs(record.order, this.settings) * POLL_ONLY_SHARE;
  }

  /**
   * Returns a time, in milliseconds since 1970. If the contact list was last read before this time, the list must be
   * read again for the look-up. The last look-up of a send needs a recent list, because the send's message may belong
   * to a new contact. Earlier look-ups accept a list of any age (-Infinity), because the last look-up still finds the
   * message of a new contact.
   */
  private minListReadAt(record: SendRecord, now: number): number {
    const { leftMs, passedMs } = this.countdownOf(record, now);
    return passedMs >= leftMs
      ? Math.max(Math.min(begunAtOf(record), now), now - MAX_CONTACT_LIST_AGE_FOR_LOOKUP_MS)
      : -Infinity;
  }

  /**
   * Returns how much of the confirmation period was left at the last look-up, and how much time has passed since that
   * look-up, in milliseconds. Before the first look-up, the POST takes the place of the last look-up.
   */
  private countdownOf(record: SendRecord, now: number): { leftMs: number; passedMs: number } {
    const { order, state } = record;
    const lookedAt = state.lookLeftMs === undefined ? begunAtOf(record) : state.lookedAt;
    return {
      leftMs: state.lookLeftMs ?? confirmationPeriodMs(order, this.settings),
      // If `lookedAt` is absent, the last look-up failed or was suspended during an outage. The time since such a
      // look-up does not count as part of the confirmation period.
      passedMs: Math.max(now - (lookedAt ?? now), 0),
    };
  }

  /**
   * Stores the result of a look-up in the record of an accepted send. If the look-up found the send's message,
   * `MessageBinder` has already stored the result, so nothing changes.
   */
  private async recordResult(
    account: string,
    record: SendRecord,
    result: LookupResult,
    reads: SimilarMessageCollector,
    now: number,
  ): Promise<void> {
    const { outcome } = result;
    const looked = await appendLookupWithCandidates(this.store, account, record, result, reads, now);
    const { leftMs, passedMs } = this.countdownOf(record, now);
    const left = outcome === 'complete' ? leftMs - passedMs : leftMs;
    const age = ageOf(record, now);
    if (outcome === 'complete' ? left <= 0 : age >= this.settings.maxAgeMs) {
      const ended = { ...fieldsKeptAcrossTransitions(looked.state), lookLeftMs: 0 };
      await this.store.apply(account, record, { transition: 'unconfirmed', state: ended, confirmInMs: null });
      return;
    }
    const waitMs = Math.min(age, MAX_WAIT_MS);
    const next: SendState = { ...looked.state, lookLeftMs: left, lookedAt: now };
    if (outcome === 'complete' || outcome === 'partial') {
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
      // If the request for an earlier poll fails, no harm is done: the next check makes the request again or reads
      // the recipient's messages.
      if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
    }
  }
}

function begunAtOf({ order, state }: SendRecord): number {
  return state.begunAt ?? order.createdAt;
}

/**
 * Returns the time since the POST, in milliseconds. If Redis' clock was set back to a time before the POST, the time
 * since the POST is not known, and {@link MAX_WAIT_MS} is returned.
 */
function ageOf(record: SendRecord, now: number): number {
  const begunAt = begunAtOf(record);
  return begunAt > now ? MAX_WAIT_MS : now - begunAt;
}
