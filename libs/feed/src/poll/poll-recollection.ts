import type { AbsenceResult } from '../diff/absence.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState } from '../feed-store.js';
import { isUnsettled, type KnownMessage } from '../snapshot/known-message.js';
import { lookIntervalMs } from './look-interval.js';
import { headMark, type PollMemory } from '../snapshot/poll-memory.js';
import type { Reading } from '../walk/reading.js';

/** Since when a message is missing is remembered to the second, rounded up: the deciding read waits that much longer. */
const ROUNDING_MS = 1_000;

/** What a read leaves to be remembered. */
export interface Recollection {
  state: ContactState;
  /** Whether everything that was known before is forgotten. */
  afresh: boolean;
  reading: Reading;
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

/** While elements cannot be read that may be what is missing, everything is read again only so often. */
const DOUBTED_MS = 1_800_000;

/** How the contact is to be read from now on. Pure. */
export function remember(recollection: Recollection): PollMemory {
  const { state, afresh, reading, known, next, absence, unreadable, revisionFloor } = recollection;
  const { memory, now, epoch } = state;
  const added = [...next.keys()].filter((id) => !known.has(id)).length;
  const suspected = absence === undefined ? memory.suspectSince !== undefined : absence.suspected > 0;
  const completeDueAt = nextComplete(recollection);
  const completeAt = reading.everything === undefined ? memory.completeAt : now;
  const lookDueAt = nextLook(recollection);
  const allThere = absence?.pending === false && absence.deleted.length === 0;
  const skipped = allThere ? reading.skipped : (memory.skipped ?? 0);
  return {
    order: reading.order,
    pageSize: reading.pageSize,
    length: reading.length,
    ...(reading.limit === undefined ? {} : { limit: reading.limit }),
    ...(unreadable === '' ? {} : { unreadable }),
    ...(skipped === 0 ? {} : { skipped }),
    head: reading.head === undefined ? memory.head : headMark(reading.head),
    count: (afresh ? 0 : state.stored) + added,
    ...(memory.activity === undefined ? {} : { activity: memory.activity }),
    ...(completeAt === undefined || afresh ? {} : { completeAt }),
    ...(completeDueAt === undefined ? {} : { completeDueAt }),
    ...(lookDueAt === undefined ? {} : { lookDueAt }),
    ...(epoch === undefined ? {} : { epoch }),
    ...(revisionFloor === undefined ? {} : { revisionFloor }),
    ...(suspected ? { suspectSince: memory.suspectSince ?? now } : {}),
  };
}

/** When everything is to be read again before the sweep is due. */
function nextComplete({ state, reading, absence, settings }: Recollection): number | undefined {
  const { memory, now } = state;
  const { everything, needsEverything } = reading;
  if (needsEverything) return Math.min(memory.completeDueAt ?? now, now);
  if (everything === undefined) return memory.completeDueAt;
  if (absence === undefined) return memory.completeDueAt === undefined ? undefined : now + settings.absenceMs;
  if (!absence.pending) return undefined;
  const isDoubted = reading.skipped > (memory.skipped ?? 0);
  return now + (isDoubted ? DOUBTED_MS : settings.absenceMs + ROUNDING_MS);
}

/** When the first of the messages that may still change is to be looked up; those on the head are seen anyway. */
function nextLook({
  state: { memory, now },
  reading,
  known,
  next,
  settings,
}: Recollection): number | undefined {
  const upstreamNow = reading.date ?? now;
  const unsettled = [...new Map([...known, ...next])].filter(([, message]) =>
    isUnsettled(message, upstreamNow, settings.settleMs),
  );
  const waits = unsettled.map(([, { timestamp = upstreamNow }]) => lookIntervalMs(upstreamNow - timestamp));
  const due = waits.length === 0 ? undefined : now + Math.min(...waits);
  if (reading.looked || memory.lookDueAt === undefined) return due;
  return due === undefined ? memory.lookDueAt : Math.min(memory.lookDueAt, due);
}

/** How long the next look-up of messages that may still change can wait, in milliseconds; one that is due is under way. */
export function lookDueInMs({ lookDueAt }: PollMemory, now: number): number {
  return lookDueAt === undefined || lookDueAt <= now ? Infinity : lookDueAt - now;
}
