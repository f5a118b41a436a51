import { BudgetExhaustedError, UpstreamError, UpstreamUnavailableError } from '#upstream';
import type { SimilarMessageCollector } from '../match/similar-message-collector.js';
import type { Lookup, LookupOptions } from '../ports.js';
import type { RelayStore } from '../send/relay-store.js';
import type { SendLookup } from '../send/send.js';
import { type SendRecord, appendLookupToSend } from '../send/send-record.js';

/**
 * The result of one look-up. `complete`: the messages were read completely. `partial`: some messages may not have
 * been read. `held`: the look-up was not made or not finished, because requests for the account are suspended during
 * an outage. `failed`: a request of the look-up failed, or the request budget had no token in time.
 */
export type LookupResult =
  { outcome: 'complete' | 'partial' | 'held' } | { outcome: 'failed'; reason: string };

const OUTCOMES = {
  complete: 'not_found',
  partial: 'incomplete',
  failed: 'failed',
} as const satisfies Record<Exclude<LookupResult['outcome'], 'held'>, SendLookup['outcome']>;

/**
 * Reads the messages of a recipient once. Errors of upstream and of the request budget are returned as a result, not
 * thrown.
 */
export async function runLookup(
  lookup: Lookup,
  account: string,
  phoneNumber: string,
  options: LookupOptions,
): Promise<LookupResult> {
  try {
    const isComplete = await lookup.lookUp(account, phoneNumber, options);
    return { outcome: isComplete ? 'complete' : 'partial' };
  } catch (error) {
    if (error instanceof UpstreamUnavailableError) return { outcome: 'held' };
    if (error instanceof UpstreamError || error instanceof BudgetExhaustedError)
      return { outcome: 'failed', reason: error.message };
    throw error;
  }
}

/**
 * Returns the send's record with the result of a look-up added to its list of look-ups. Returns the record unchanged
 * if the look-up was suspended (`held`).
 * @param now when the look-up started, in milliseconds since 1970 by Redis' clock
 */
export async function appendLookupWithCandidates(
  store: RelayStore,
  account: string,
  record: SendRecord,
  result: LookupResult,
  reads: SimilarMessageCollector,
  now: number,
): Promise<SendRecord> {
  if (result.outcome === 'held') return record;
  return appendLookupToSend(record, {
    ...{ at: now, outcome: OUTCOMES[result.outcome] },
    ...{ contactIds: reads.contactIds, messagesRead: reads.messagesRead },
    candidates: await reads.candidatesOf(store, account, record),
    ...(result.outcome === 'failed' ? { error: result.reason } : {}),
  });
}
