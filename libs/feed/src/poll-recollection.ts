import type { AbsenceResult } from './absence.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState } from './feed-store.js';
import { isUnsettled, type KnownMessage } from './known-message.js';
import { lookIntervalMs } from './look-interval.js';
import type { WalkResult } from './page-walk.js';
import { headMark, type PollMemory } from './poll-memory.js';

/** Since when a message is missing is remembered to the second, rounded up: the deciding read waits that much longer. */
const ROUNDING_MS = 1_000;

/** What a read leaves to be remembered. */
export interface Recollection {
  state: ContactState;
  /** Whether everything that was known before is forgotten. */
  afresh: boolean;
  walk: WalkResult;
  /** What was known before of the messages that were read, and what is known of them from now on. */
  known: ReadonlyMap<string, KnownMessage>;
  next: ReadonlyMap<string, KnownMessage>;
  absence: AbsenceResult | undefined;
  /** What could not be read; see `markUnreadable`. */
  unreadable: string;
  /** Above which the revisions of its messages go on, if anything was forgotten of them. */
  revisionFloor: number | undefined;
  settings: Pick<FeedSettings, 'absenceMs' | 'settleMs'>;
}

/** How the contact is to be read from now on. Pure. */
export function remember(recollection: Recollection): PollMemory {
  const { state, afresh, walk, known, next, absence, unreadable, revisionFloor, settings } = recollection;
  const { memory, now, epoch } = state;
  const added = [...next.keys()].filter((id) => !known.has(id)).length;
  const suspected = absence === undefined ? memory.suspectSince !== undefined : absence.suspected > 0;
  const undecided = absence?.pending ?? memory.completeDueAt !== undefined;
  const completeDueAt =
    undecided && walk.complete
      ? now + settings.absenceMs + ROUNDING_MS
      : undecided
        ? memory.completeDueAt
        : undefined;
  const completeAt = walk.complete ? now : memory.completeAt;
  const lookDueAt = nextLook(recollection);
  const allThere = absence?.pending === false && absence.deleted.length === 0;
  const skipped = allThere ? walk.skipped : (memory.skipped ?? 0);
  return {
    order: walk.order,
    pageSize: walk.pageSize,
    length: walk.length,
    ...(walk.limit === undefined ? {} : { limit: walk.limit }),
    ...(unreadable === '' ? {} : { unreadable }),
    ...(skipped === 0 ? {} : { skipped }),
    head: headMark(walk.head),
    count: (afresh ? 0 : state.stored) + added,
    ...(completeAt === undefined ? {} : { completeAt }),
    ...(completeDueAt === undefined ? {} : { completeDueAt }),
    ...(lookDueAt === undefined ? {} : { lookDueAt }),
    ...(epoch === undefined ? {} : { epoch }),
    ...(revisionFloor === undefined ? {} : { revisionFloor }),
    ...(suspected ? { suspectSince: memory.suspectSince ?? now } : {}),
  };
}

/** When the first of the messages that may still change is to be looked up; those on the head are seen anyway. */
function nextLook({ state: { memory, now }, walk, known, next, settings }: Recollection): number | undefined {
  const upstreamNow = walk.date ?? now;
  const unsettled = [...new Map([...known, ...next])].filter(([, message]) =>
    isUnsettled(message, upstreamNow, settings.settleMs),
  );
  const waits = unsettled.map(([, { timestamp = upstreamNow }]) => lookIntervalMs(upstreamNow - timestamp));
  const due = waits.length === 0 ? undefined : now + Math.min(...waits);
  const looked = memory.lookDueAt !== undefined && memory.lookDueAt <= now;
  if (looked || memory.lookDueAt === undefined) return due;
  return due === undefined ? memory.lookDueAt : Math.min(memory.lookDueAt, due);
}

/** How long what is to be seen to at a certain time can wait, in milliseconds. */
export function dueInMs(
  { completeDueAt, lookDueAt, completeAt }: PollMemory,
  now: number,
  sweepMs: number,
): number {
  const times = [completeDueAt, lookDueAt, completeAt === undefined ? undefined : completeAt + sweepMs];
  return Math.max(Math.min(...times.map((time) => (time ?? Infinity) - now)), 0);
}
