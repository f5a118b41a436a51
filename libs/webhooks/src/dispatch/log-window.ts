import {
  type Cursor,
  CursorExpiredError,
  type EventLog,
  type EventPage,
  isLogPositionBefore,
  type LoggedEvent,
} from '#events';

/** Max number of events that are read from the event log at once. */
const PAGE_SIZE = 500;

/**
 * Time after the end of a window for which events are still read, in milliseconds. After Redis' clock was set back,
 * the position of a new event is later than the event's time, by at most as much as the clock was set back.
 */
const MAX_CLOCK_STEP_MS = 7_200_000;

/** A span of time in milliseconds since 1970. `since` is inclusive, `until` is exclusive. */
export interface TimeWindow {
  since: number;
  until: number;
}

/**
 * Yields the events of a time window page by page, oldest first. If Redis' clock was set back by at most two hours,
 * yields also those events that are after `until` by their position, but before `until` by their time. Events that are
 * recorded after the call are not included.
 * @param lastPosition if given, the events after this position are not included either
 */
export async function* readEventsInTimeWindow(
  log: Pick<EventLog, 'read' | 'end'>,
  account: string,
  { since, until }: TimeWindow,
  lastPosition?: string,
): AsyncGenerator<LoggedEvent[], void, void> {
  const end = await log.end(account);
  const last = lastPosition ?? end.position;
  let after: Cursor | undefined =
    since < 1 ? undefined : { epoch: end.epoch, position: lastPositionBefore(since) };
  for (;;) {
    const page = await readEventsFromCursorOrOldest(log, account, after, PAGE_SIZE);
    const here = page.events.filter(({ position }) => !isLogPositionBefore(last, position));
    yield here.filter(({ timestamp }) => Date.parse(timestamp) >= since && Date.parse(timestamp) < until);
    if (!page.hasMore || here.length < page.events.length) return;
    const lastRead = page.events.at(-1)?.position;
    if (
      lastRead !== undefined &&
      isLogPositionBefore(lastPositionBefore(until + MAX_CLOCK_STEP_MS), lastRead)
    )
      return;
    after = page.next;
  }
}

/** A page of the event log. */
export interface PageFromCursorOrOldest extends EventPage {
  /**
   * True if the cursor had expired: events after it were already removed, or the log was lost and created again. The
   * page then begins with the oldest event that is left.
   */
  isTruncated: boolean;
}

/**
 * Reads a page of the event log. If the cursor has expired (see {@link CursorExpiredError}), continues with the
 * oldest event that is left.
 */
export async function readEventsFromCursorOrOldest(
  log: Pick<EventLog, 'read'>,
  account: string,
  after: Cursor | undefined,
  limit: number,
): Promise<PageFromCursorOrOldest> {
  try {
    return { ...(await log.read(account, after, limit)), isTruncated: false };
  } catch (error) {
    if (!(error instanceof CursorExpiredError)) throw error;
    return { ...(await log.read(account, undefined, limit)), isTruncated: true };
  }
}

/** Greatest value of the counter in a position of the event log. */
const MAX_COUNTER = '18446744073709551615';

/**
 * Returns the greatest possible position in the event log before a time. A position consists of the time of its event
 * in milliseconds by Redis' clock, and a counter.
 */
function lastPositionBefore(time: number): string {
  return `${Math.min(time, Number.MAX_SAFE_INTEGER) - 1}-${MAX_COUNTER}`;
}

/** Returns the greatest possible position in the event log before the given position. */
export function previousLogPosition(position: string): string {
  const { ms, n } = partsOf(position);
  return n > 0n ? `${ms}-${n - 1n}` : `${ms - 1n}-${MAX_COUNTER}`;
}

/** Returns the smallest possible position in the event log after the given position. */
export function nextLogPosition(position: string): string {
  const { ms, n } = partsOf(position);
  return `${ms}-${n + 1n}`;
}

/** Returns the time of a position in the event log, as an ISO 8601 time. */
export function timeOfLogPosition(position: string): string {
  return new Date(Number(partsOf(position).ms)).toISOString();
}

function partsOf(position: string): { ms: bigint; n: bigint } {
  const [ms = '0', n = '0'] = position.split('-');
  return { ms: BigInt(ms), n: BigInt(n) };
}
