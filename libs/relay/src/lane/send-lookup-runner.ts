import { pause } from '#platform';
import { SENT_BEFORE_POST_REASON, SimilarMessageCollector } from '../match/similar-message-collector.js';
import type { Lookup, LookupOptions } from '../ports.js';
import { confirmationPeriodMs, postRequestLeaseMs, type RelaySettings } from '../send/relay-settings.js';
import type { LaneHead } from '../send/lane-store.js';
import type { RelayStore, StateChange } from '../send/relay-store.js';
import {
  type SendRecord,
  type SendState,
  fieldsKeptAcrossTransitions,
  mayHaveLostPost,
} from '../send/send-record.js';
import { type LookupResult, runLookup, appendLookupWithCandidates } from './lookup-result.js';

/** Wait times before consecutive look-ups of a send, in milliseconds. The last wait time repeats. */
const LOOKUP_WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000] as const;

/**
 * Maximum wait of a lane during an outage of upstream, in milliseconds. The end of the outage wakes the lane earlier.
 */
export const MAX_LANE_WAIT_IN_OUTAGE_MS = 15_000;

/**
 * Duration of the lease of a look-up, in milliseconds. No other process begins a look-up of the send meanwhile. If
 * the process dies during a look-up, the next look-up begins after the lease. A running look-up renews its lease.
 */
const LOOKUP_LEASE_MS = 30_000;
/** Number of times that a look-up renews its lease within the duration of the lease. */
const RENEWALS_PER_LEASE = 3;

/**
 * Maximum age of the contact list for the last look-up of a send, in milliseconds. An older list may lack a new
 * contact with the recipient's number, and the send's message may belong to the new contact.
 */
export const MAX_CONTACT_LIST_AGE_FOR_LOOKUP_MS = 60_000;

/**
 * Maximum time that a send waits for a read of the unidentified contacts after its confirmation period, in
 * milliseconds. These contacts probably do not have the recipient's number, and must not delay the sends to all
 * recipients for long.
 */
const MAX_WAIT_FOR_UNIDENTIFIED_CONTACTS_MS = 600_000;

const TIME_OF_POST_UNKNOWN =
  'Redis restarted, and upstream shows a message with the same text that may be the message of this send. The time of the message cannot be compared with the time of the POST, because it is not known whether the clock of Redis was set back.';

/** Looks up a send among the messages of its recipient, to find out whether upstream accepted the send. */
export class SendLookupRunner {
  constructor(
    private readonly store: RelayStore,
    private readonly lookup: Lookup,
    private readonly settings: RelaySettings,
  ) {}

  private get leaseMs(): number {
    return this.settings.lookupLeaseMs ?? LOOKUP_LEASE_MS;
  }

  /**
   * Returns the wait before the next look-up of a send, in milliseconds.
   * @param looks number of consecutive look-ups with the same result (see {@link SendState.looks}); 0 before the
   * first look-up
   */
  private waitAfter(looks: number): number {
    const waits = this.settings.lookupWaitsMs ?? LOOKUP_WAITS_MS;
    return waits[Math.min(looks, waits.length - 1)] ?? 0;
  }

  /**
   * Returns the state change that starts the look-ups of a send whose POST had no clear outcome.
   * @param reason why the outcome of the POST is unknown
   */
  begin(
    transition: 'ambiguous' | 'abandoned',
    record: SendRecord,
    now: number,
    reason: string | undefined,
  ): StateChange {
    return this.start(
      transition,
      record,
      now,
      confirmationPeriodMs(record.order, this.settings),
      reason === undefined ? {} : { reason },
    );
  }

  /**
   * Returns the state change that starts look-ups of a queued send, because Redis may have lost the record of a POST,
   * or because an operator requested a resend. If the look-ups are complete and do not find the send's message, the
   * send is posted (exception: {@link isMessageOfLostPostPossible}). After a Redis restart, the look-ups last until
   * the confirmation period has passed since the restart, and at least until a POST that had begun before the restart
   * has ended. Without a restart, one complete look-up is enough.
   */
  recheck({ record, now, redisRestartedAt }: LaneHead): StateChange {
    const periodMs = Math.max(
      confirmationPeriodMs(record.order, this.settings),
      postRequestLeaseMs(this.settings),
    );
    const leftMs =
      redisRestartedAt === undefined ? 0 : Math.max(periodMs - Math.max(now - redisRestartedAt, 0), 0);
    return this.start('recheck_started', record, now, leftMs, {
      thenPost: true,
      mayHaveLostPost: redisRestartedAt !== undefined,
    });
  }

  private start(
    transition: 'ambiguous' | 'abandoned' | 'recheck_started',
    { state }: SendRecord,
    now: number,
    lookLeftMs: number,
    extra: Pick<SendState, 'reason' | 'thenPost' | 'mayHaveLostPost'>,
  ): StateChange {
    const waitMs = this.waitAfter(0);
    return {
      transition,
      state: {
        ...fieldsKeptAcrossTransitions(state),
        phase: 'looking',
        lookLeftMs,
        lookedAt: now,
        looks: 0,
        lookSince: now,
        notBefore: now + waitMs,
        ...extra,
      },
      laneDueInMs: waitMs,
      redisRun: 'update',
    };
  }

  /**
   * Makes one look-up: reads the recipient's messages. If the send's message is found, the send leaves its lane.
   * Returns the wait before the lane's next step, in milliseconds.
   *
   * The send's confirmation period counts down only while the recipient's messages can be read completely. The
   * look-ups end with the first complete read after the confirmation period. The look-ups also end if they have
   * lasted for the maximum age of a send and the latest read is not complete.
   *
   * If the send is to be posted after the look-ups (see {@link isPostedAfterLastLookup}), the last look-up counts as
   * complete only if the contact list and the unidentified contacts were read recently, because the message may
   * belong to a new contact. For the limits of this rule, see {@link unidentifiedContactsToRead}.
   */
  async runStep(account: string, head: LaneHead): Promise<number> {
    const { now, redisRestartedAt } = head;
    const { state } = head.record;
    const lease = this.lease(head.record, now);
    // Redis may have restarted since the look-ups started, and may have lost the record of a POST that was made after
    // them.
    if (redisRestartedAt !== undefined) lease.state.mayHaveLostPost = true;
    // Without this lease, workers would begin further look-ups of the send during a slow one, all with the same
    // requests.
    const begun = await this.store.apply(account, head.record, lease);
    if (begun === undefined) return 0;
    // Redis' clock may have been set back since the look-ups started.
    const since = Math.min(state.lookSince ?? now, now);
    // If `lookedAt` is absent, the last look-up failed or was suspended during an outage. The time since such a
    // look-up does not count as part of the confirmation period.
    const passedMs = Math.max(now - (state.lookedAt ?? now), 0);
    const leftMs = state.lookLeftMs ?? 0;
    const isFinalStep = passedMs >= leftMs;
    const reads = new SimilarMessageCollector([begun]);
    const reading = runLookup(this.lookup, account, begun.order.phoneNumber, {
      reads,
      ...(isFinalStep ? { minListReadAt: Math.max(since, now - MAX_CONTACT_LIST_AGE_FOR_LOOKUP_MS) } : {}),
      isListRequired: this.isPostedAfterLastLookup(state),
      ...(isFinalStep ? this.unidentifiedContactsToRead(begun, since, now) : {}),
    });
    const record = await this.renewLeaseUntil(reading, account, begun, now);
    const step = await reading;
    const { outcome } = step;
    const looked = await appendLookupWithCandidates(this.store, account, record, step, reads, now);
    const lookLeftMs = outcome === 'complete' ? leftMs - passedMs : leftMs;
    // A send becomes `unknown` at the maximum age only if its latest look-up could not read all messages. As long as
    // look-ups read all messages, they are repeated until the confirmation period has passed, which may be longer than
    // the maximum age.
    const isTimedOut = outcome !== 'complete' && now - since >= this.settings.maxAgeMs;
    if (outcome === 'complete' && lookLeftMs <= 0) {
      await this.store.apply(account, record, this.changeAfterLastLookup(looked));
      return 0;
    }
    if (isTimedOut) {
      await this.store.apply(account, record, {
        transition: 'marked_unknown',
        state: { ...fieldsKeptAcrossTransitions(looked.state), reason: timeoutReason(step) },
        mayHaveLostPost: mayHaveLostPost(looked.state),
      });
      return 0;
    }
    // Start again with the shortest wait when reads of the recipient's messages begin to fail, or begin to work
    // again.
    const isSameResult = (outcome === 'failed') === (state.lookedAt === undefined);
    const looks = isSameResult ? (state.looks ?? 0) + 1 : 0;
    const backoffMs = this.waitAfter(looks);
    // If the remaining time for look-ups is shorter than the usual wait, make the last look-up earlier.
    const waitMs =
      outcome === 'complete' ? Math.min(backoffMs, Math.max(lookLeftMs, this.waitAfter(0))) : backoffMs;
    const next: SendState = {
      ...looked.state,
      lookSince: since,
      lookLeftMs,
      lookedAt: now,
      looks,
      notBefore: now + waitMs,
    };
    if (outcome === 'failed' || outcome === 'held') delete next.lookedAt;
    const held = outcome === 'held' ? { looks: state.looks ?? 0, notBefore: now } : {};
    const laneDueInMs = outcome === 'held' ? MAX_LANE_WAIT_IN_OUTAGE_MS : waitMs;
    const waiting = await this.store.apply(account, record, {
      transition: 'search_continued',
      state: { ...next, ...held },
      laneDueInMs,
    });
    // `apply` returns undefined if the stored send has changed since `record` was read, for example because its
    // message was found. The lane can then continue at once.
    return waiting === undefined ? 0 : laneDueInMs;
  }

  /** Returns the change that begins or renews the lease of a look-up. */
  private lease({ state }: SendRecord, now: number): StateChange {
    return {
      transition: 'lookup_begun',
      state: { ...state, notBefore: now + this.leaseMs },
      laneDueInMs: this.leaseMs,
    };
  }

  /**
   * Renews the lease of a look-up until the look-up ends or another process changes the send. Returns the send's
   * record after the last renewal. If another process changed the send, this record is outdated, so the store later
   * refuses the result of the look-up.
   * @param begun the send's record when the lease began
   * @param now when the lease began, in milliseconds since 1970 by Redis' clock
   */
  private async renewLeaseUntil(
    reading: Promise<LookupResult>,
    account: string,
    begun: SendRecord,
    now: number,
  ): Promise<SendRecord> {
    const ended = new AbortController();
    const end = (): void => {
      ended.abort();
    };
    // Errors of the look-up are thrown where its result is used.
    void reading.then(end, end);
    const startedAt = performance.now();
    let record = begun;
    for (;;) {
      await pause(this.leaseMs / RENEWALS_PER_LEASE, ended.signal);
      if (ended.signal.aborted) return record;
      try {
        const lease = this.lease(record, now + Math.round(performance.now() - startedAt));
        const renewed = await this.store.apply(account, record, lease);
        if (renewed === undefined) return record;
        record = renewed;
      } catch {
        // Redis failed. The next renewal is tried before the lease ends. If the lease ends all the same, another
        // process may begin a look-up, and the store then refuses the result of this look-up.
      }
    }
  }

  /**
   * Returns the options with which the last look-up of a send also reads the unidentified contacts. Returns no
   * options in two cases: the send is not posted again whatever the look-up finds, or the send has already waited for
   * these contacts for the maximum time.
   * @param since when the look-ups of the send began
   */
  private unidentifiedContactsToRead(
    { order, state }: SendRecord,
    since: number,
    now: number,
  ): Pick<LookupOptions, 'minUnidentifiedReadAt'> {
    const periodMs = confirmationPeriodMs(order, this.settings);
    const maxWaitMs =
      Math.max(periodMs, postRequestLeaseMs(this.settings)) + MAX_WAIT_FOR_UNIDENTIFIED_CONTACTS_MS;
    if (!this.isPostedAfterLastLookup(state) || now - since > maxWaitMs) return {};
    // An earlier read of these contacts, for example for another send, counts if it is recent enough. A read in the
    // first half of the confirmation period is too old, because the send's message may have appeared after that read.
    const maxAgeMs = Math.min(MAX_CONTACT_LIST_AGE_FOR_LOOKUP_MS, periodMs / 2);
    return { minUnidentifiedReadAt: Math.max(since, now - maxAgeMs) };
  }

  /**
   * Returns true if the send is to be posted if its last look-up does not find its message. Exception: if
   * {@link isMessageOfLostPostPossible}, the send becomes `unknown` instead.
   */
  private isPostedAfterLastLookup({ thenPost, copies = 0 }: SendState): boolean {
    // With `SEND_ON_UNKNOWN=resend`, the operator prefers a duplicate text to a lost text. A third POST is never made
    // automatically.
    return thenPost === true || (this.settings.onUnknown === 'resend' && copies < 2);
  }

  private changeAfterLastLookup(record: SendRecord): StateChange {
    const { state } = record;
    const { reason, thenPost } = state;
    if (isMessageOfLostPostPossible(record))
      return {
        transition: 'marked_unknown',
        state: { ...fieldsKeptAcrossTransitions(state), reason: TIME_OF_POST_UNKNOWN },
        mayHaveLostPost: true,
      };
    if (this.isPostedAfterLastLookup(state))
      return {
        transition: thenPost === true ? 'recheck_passed' : 'resent_automatically',
        state: fieldsKeptAcrossTransitions(state),
        // Ends the lease of the look-up.
        laneDueInMs: 0,
      };
    return {
      transition: 'marked_unknown',
      state: { ...fieldsKeptAcrossTransitions(state), ...(reason === undefined ? {} : { reason }) },
    };
  }
}

/**
 * True if Redis may have lost the record of a POST, and the last look-up saw a message that would be the send's
 * message if Redis' clock was set back. Always false if the difference of the clocks was stored with the send,
 * because the message's time was then compared by upstream's clock.
 */
function isMessageOfLostPostPossible({ order, state }: SendRecord): boolean {
  if (!mayHaveLostPost(state) || order.upstreamAheadMs !== undefined) return false;
  const candidates = state.lookups?.at(-1)?.candidates ?? [];
  return candidates.some(({ reason }) => reason === SENT_BEFORE_POST_REASON);
}

/** Returns the `reason` text of a send whose look-ups have not been completed within the maximum age of a send. */
function timeoutReason(step: LookupResult): string {
  if (step.outcome === 'partial')
    return 'The look-ups stayed incomplete for SEND_MAX_AGE_SECONDS: not all messages were read, or the contact list could not be read or lacks the contact of the recipient.';
  const last = step.outcome === 'failed' ? ` The last look-up failed: ${step.reason}.` : '';
  return `The recipient's messages could not be read within SEND_MAX_AGE_SECONDS.${last}`;
}
