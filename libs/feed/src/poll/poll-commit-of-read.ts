import type { RowUpdate } from '#conversations';
import type { NewEvent } from '#events';
import type { UpstreamMessage } from '#upstream';
import type { Arrival, PollReport } from '../delay/poll-report.js';
import type { AbsenceResult } from '../diff/absence.js';
import type { DiffResult } from '../diff/diff.js';
import type { BoundSend } from '../ports.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { PollState } from '../snapshot/poll-state.js';
import { packPollState } from '../snapshot/poll-state-codec.js';
import type { RebuildablePollState } from '../snapshot/rebuildable-poll-state.js';
import type { PagesRead } from '../walk/pages-read.js';
import { baselineAfter } from './baseline.js';
import type { NextHeadRead } from './next-read-planner.js';
import type { PollCommit } from './poll-commit.js';
import type { CommitKind, PollStart } from './poll-start.js';

/** A read of messages that was compared with the snapshot. */
export interface ComparedRead {
  start: PollStart;
  reading: PagesRead;
  kind: CommitKind;
  /** Snapshots before the read, by message id. */
  known: ReadonlyMap<string, KnownMessage>;
  /** Snapshots that the read adds or changes, by message id. */
  next: ReadonlyMap<string, KnownMessage>;
  /** The messages that were read, oldest first. */
  observed: readonly UpstreamMessage[];
  changes: DiffResult;
  /** Undefined if the read was not a stable read of all pages. */
  absence: AbsenceResult | undefined;
  /** The sends that messages belong to, by message id. */
  sends: ReadonlyMap<string, BoundSend>;
  /** Those of the {@link sends} whose messages were found by earlier reads and are in no commit yet. */
  uncommittedSends: ReadonlyMap<string, BoundSend>;
  /** Hashes of the contact's unreadable elements, and the number of those that no earlier read found. */
  unreadable: { hashes: string; added: number };
  /**
   * Number of placeholders (see `isPlaceholder`) for messages that upstream failed to return, without placeholders
   * that an earlier read of the contact found. Messages with the same placeholder count as one.
   */
  skipped: number;
  /** See `PollStateInput.revisionFloor`. */
  revisionFloor: number | undefined;
}

/** What is computed from a {@link ComparedRead} for its commit. */
export interface ReadConsequences {
  events: readonly NewEvent[];
  pollState: PollState;
  /** See {@link isHeadReadWithoutChanges}. */
  isQuiet: boolean;
  arrivals: readonly Arrival[];
  /** Present if the newest messages were read. */
  schedule: NextHeadRead | undefined;
  extension: RebuildablePollState | undefined;
  deep: PollCommit['deep'];
  row: RowUpdate;
  interval: PollReport['interval'];
}

/**
 * Returns true if a read of the newest messages causes no events and changes neither a snapshot nor the poll state,
 * from which later reads are planned. Returns false for a new baseline, for all other reads, and while a request to
 * poll the contact sooner is open.
 */
export function isHeadReadWithoutChanges(
  { start: { state, resync }, kind, next }: ComparedRead,
  events: readonly NewEvent[],
  pollState: PollState,
): boolean {
  return (
    kind === 'head' &&
    resync === undefined &&
    // While a request to poll the contact sooner is open, the commit must store the poll state. Otherwise the
    // request would stay open.
    state.expediteRequests === 0 &&
    next.size === 0 &&
    events.length === 0 &&
    isSamePollState(pollState, state.pollState)
  );
}

/** Returns the commit of a read. Pure function. */
export function pollCommitOf(read: ComparedRead, consequences: ReadConsequences): PollCommit {
  const { start, reading, kind, known, next, unreadable, skipped, absence } = read;
  const { state, resync } = start;
  const { events, pollState, isQuiet, arrivals, schedule, extension, deep, row, interval } = consequences;
  return {
    version: state.version,
    redisRun: state.redisRun,
    expediteRequests: state.expediteRequests,
    deletesSnapshots: resync !== undefined,
    ...((absence?.suspected ?? 0) > 0 ? { suspectAt: state.now } : {}),
    suspicion: suspectSinceToStore(pollState, state.pollState, resync !== undefined),
    ...(reading.served.length > 0 ? { messagesShownAt: state.now } : {}),
    ...(reading.longestPage > state.longestPage ? { longestPage: reading.longestPage } : {}),
    unreadable: unreadable.added,
    known: next,
    events,
    ...(isQuiet ? {} : { pollState }),
    ...(extension === undefined ? {} : { extension: { ...extension, ...schedule?.extension } }),
    ...(schedule === undefined ? {} : { bucket: schedule.bucket, dueInMs: schedule.dueInMs }),
    baseline: baselineAfter(start, reading),
    deep,
    // Phone numbers are taken only from new and reappeared messages. A change of an old message does not
    // show who owns the phone number now.
    numbers: numbersIn(reading.served.filter(({ id }) => next.has(id) && known.get(id)?.deleted !== false)),
    row,
    report: {
      startedAt: state.now,
      // The clock difference is calculated from `startedAt` and `upstreamDate`, the time of a later reply.
      // At the end of a deep read, `startedAt` is set again and no reply follows, so `upstreamDate` is left
      // out.
      ...(reading.date === undefined || kind === 'end' ? {} : { upstreamDate: reading.date }),
      arrivals,
      interval,
      ...(skipped > 0 ? { skipped } : {}),
    },
  };
}

/**
 * Returns since when missing messages of the contact have made an outage likely, in milliseconds since 1970. If no
 * outage is likely, returns `over` if one was likely before the read or the commit deletes all snapshots, and
 * undefined otherwise.
 */
function suspectSinceToStore(
  { suspectSince }: PollState,
  before: PollState,
  deletesSnapshots: boolean,
): PollCommit['suspicion'] {
  return suspectSince ?? (before.suspectSince !== undefined || deletesSnapshots ? 'over' : undefined);
}

function isSamePollState(a: PollState, b: PollState): boolean {
  return packPollState(a).equals(packPollState(b));
}

/**
 * Returns the contact's own phone numbers or mail addresses: the recipients of outbound messages and the senders of
 * inbound messages.
 */
function numbersIn(messages: readonly UpstreamMessage[]): string[] {
  const numbers = messages.map(({ direction, from, to }) =>
    direction === 'outbound' ? to : direction === 'inbound' ? from : undefined,
  );
  return [...new Set(numbers.filter((number) => number !== undefined))];
}
