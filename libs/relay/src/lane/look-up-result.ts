import { BudgetExhaustedError, UpstreamError, UpstreamUnavailableError } from '#upstream';
import type { SimilarMessages } from '../match/similar-messages.js';
import type { Lookup, LookUpOptions } from '../ports.js';
import type { RelayStore } from '../send/relay-store.js';
import type { SendLookup } from '../send/send.js';
import { type SendRecord, recordWithLookup } from '../send/send-record.js';

/**
 * The result of one look-up. `held`: no request was made, because requests for the account are suspended during an
 * outage.
 */
export type LookUpResult =
  { outcome: 'complete' | 'partial' | 'held' } | { outcome: 'failed'; reason: string };

const OUTCOMES = {
  complete: 'not_found',
  partial: 'incomplete',
  failed: 'failed',
} as const satisfies Record<Exclude<LookUpResult['outcome'], 'held'>, SendLookup['outcome']>;

/** Reads the messages of a recipient once. */
export async function lookUpRecipient(
  lookup: Lookup,
  account: string,
  phoneNumber: string,
  options: LookUpOptions,
): Promise<LookUpResult> {
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
 * Returns the record with this look-up. If the look-up found the send's message, the send has already changed, together
 * with its look-ups, so a change that is based on this record is rejected.
 * @param now when the look-up started, in milliseconds since 1970 by Redis' clock
 */
export async function recordWithLookUpResult(
  store: RelayStore,
  account: string,
  record: SendRecord,
  result: LookUpResult,
  reads: SimilarMessages,
  now: number,
): Promise<SendRecord> {
  if (result.outcome === 'held') return record;
  return recordWithLookup(record, {
    ...{ at: now, outcome: OUTCOMES[result.outcome] },
    ...{ contactIds: reads.contactIds, messagesRead: reads.messagesRead },
    candidates: await reads.candidatesOf(store, account, record),
    ...(result.outcome === 'failed' ? { error: result.reason } : {}),
  });
}
