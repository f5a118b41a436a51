import type { CommitKind, PollStart } from './poll-start.js';
import type { RebuildablePollState } from '../snapshot/rebuildable-poll-state.js';
import type { PagesRead } from '../walk/pages-read.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from '../walk/page-limits.js';
import {
  type VolatileMessageFieldsUpdate,
  packVolatileMessageFields,
} from '../form/volatile-message-fields.js';

/**
 * After upstream failed to return a full first page to two reads in a row, shorter first pages are requested for this
 * time, in milliseconds.
 */
const HEAD_LIMIT_MS = 600_000;

/**
 * Computes the part of the contact's state that can be rebuilt after a loss. Has no side effects. Returns
 * undefined if that part does not change.
 * @param commit `isQuiet`: true if the commit contains no events, no changed snapshots and no changed poll state.
 * `endsResync`: true if the commit ends a resync
 */
export function rebuildablePollStateAfterRead(
  { state, resync }: PollStart,
  reading: PagesRead,
  kind: CommitKind,
  { volatility }: VolatileMessageFieldsUpdate,
  { isQuiet, endsResync }: { isQuiet: boolean; endsResync: boolean },
): RebuildablePollState | undefined {
  const before = state.extension;
  const {
    headLimit,
    detectsVolatility,
    hasMisplacedMessages = before.hasMisplacedMessages === true,
  } = reading;
  const isOrderAsBefore = hasMisplacedMessages === (before.hasMisplacedMessages === true);
  if (kind !== 'head' && !detectsVolatility && !endsResync && resync === undefined && isOrderAsBefore)
    return undefined;
  const after: RebuildablePollState = { ...before };
  delete after.hasMisplacedMessages;
  if (hasMisplacedMessages) after.hasMisplacedMessages = true;
  if (resync !== undefined) after.resyncing = true;
  else if (endsResync) delete after.resyncing;
  if (detectsVolatility) {
    delete after.volatile;
    if (volatility.size > 0) after.volatile = packVolatileMessageFields(volatility);
  }
  // Only a read of the newest messages sets `readAt`, `unchangedPage`, `headLimit` and `ignoresLimit`. Such a read
  // may run during a deep read, and its values are then newer than those of the deep read.
  if (kind !== 'head') return after;
  after.readAt = state.now;
  if (reading.ignoresLimit === true) after.ignoresLimit = true;
  delete after.unchangedPage;
  if (isQuiet && reading.onlyPage?.limit === DOCUMENTED_MAX_MESSAGES_PER_PAGE)
    after.unchangedPage = { version: state.version, digest: reading.onlyPage.digest };
  delete after.headLimit;
  delete after.headLimitUntil;
  if (headLimit !== undefined) {
    after.headLimit = headLimit;
    after.headLimitUntil = headLimitUntilAfterRead(before, headLimit, state.now);
  }
  return after;
}

/**
 * Returns until when the first pages of later reads are requested with the reduced limit, in milliseconds since 1970
 * by Redis' clock. The next read requests the full page again after the first failure, because the cause may have
 * nothing to do with the page, and after a change of the reduced limit.
 */
function headLimitUntilAfterRead(before: RebuildablePollState, headLimit: number, now: number): number {
  if (before.headLimit === undefined || before.headLimitUntil === undefined) return now;
  // If the reduced limit was no longer in force, this read requested the full page, which failed again.
  if (before.headLimitUntil <= now) return now + HEAD_LIMIT_MS;
  return headLimit === before.headLimit ? before.headLimitUntil : now;
}
