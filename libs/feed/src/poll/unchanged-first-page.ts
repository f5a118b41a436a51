import type { ContactState } from '../snapshot/contact-state.js';
import { isSweepDue } from './sweep.js';
import { lossReasonOf } from './poll-start.js';

/**
 * Returns true if an unchanged first page is enough to conclude that no message has changed since the last
 * read. Returns false, for example, if the contact's state has changed since the last read, or if a deep read
 * is due.
 */
export function isUnchangedFirstPageEnough(state: ContactState, sweepMs: number): boolean {
  const { version, now, pollState, extension, expediteRequests, emitAfter, hasRow } = state;
  const { completeDueAt, flagCheckDueAt, suspectSince, order } = pollState;
  return (
    extension.unchangedPage?.version === version &&
    lossReasonOf(state) === undefined &&
    emitAfter === undefined &&
    expediteRequests === 0 &&
    hasRow &&
    suspectSince === undefined &&
    // An unchanged first page of an oldest-first list says nothing about the newest messages.
    order !== 'oldestFirst' &&
    // Volatile fields, a reduced page limit or an unfinished resync need a comparison of all messages at each read.
    extension.volatile === undefined &&
    extension.headLimit === undefined &&
    extension.resyncing !== true &&
    !isSweepDue(pollState, extension, now, sweepMs) &&
    (completeDueAt === undefined || completeDueAt > now) &&
    (flagCheckDueAt === undefined || flagCheckDueAt > now)
  );
}
