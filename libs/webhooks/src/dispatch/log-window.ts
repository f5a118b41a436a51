import {
  type Cursor,
  CursorExpiredError,
  type EventLog,
  type EventPage,
  isBefore,
  type LoggedEvent,
} from '#events';

const PAGE = 500;

/** A stretch of time, in ms since 1970: `since` is in it, `until` is not. */
export interface Window {
  since: number;
  until: number;
}

/** What the log has of a window up to its present end, page by page, oldest first. */
export async function* eventsIn(
  log: Pick<EventLog, 'read' | 'end'>,
  account: string,
  { since, until }: Window,
): AsyncGenerator<LoggedEvent[], void, void> {
  const end = await log.end(account);
  let after: Cursor | undefined =
    since < 1 ? undefined : { epoch: end.epoch, position: lastPlaceBefore(since) };
  for (;;) {
    const page = await readKept(log, account, after, PAGE);
    const here = page.events.filter(({ position }) => !isBefore(end.position, position));
    yield here.filter(({ timestamp }) => Date.parse(timestamp) >= since && Date.parse(timestamp) < until);
    const last = page.events.at(-1);
    if (!page.hasMore || here.length < page.events.length) return;
    if (last !== undefined && !isBefore(last.position, lastPlaceBefore(until))) return;
    after = page.next;
  }
}

/** What was trimmed meanwhile is passed over: it cannot be told any more. */
export async function readKept(
  log: Pick<EventLog, 'read'>,
  account: string,
  after: Cursor | undefined,
  limit: number,
): Promise<EventPage> {
  try {
    return await log.read(account, after, limit);
  } catch (error) {
    if (!(error instanceof CursorExpiredError)) throw error;
    return log.read(account, undefined, limit);
  }
}

const LAST_OF_MS = '18446744073709551615';

/** Places begin with the time of their event, by Redis' clock; the second part counts within a millisecond. */
function lastPlaceBefore(time: number): string {
  return `${Math.min(time, Number.MAX_SAFE_INTEGER) - 1}-${LAST_OF_MS}`;
}

/** The place just before one. */
export function placeBefore(position: string): string {
  const { ms, n } = partsOf(position);
  return n > 0n ? `${ms}-${n - 1n}` : `${ms - 1n}-${LAST_OF_MS}`;
}

/** The place just after one. */
export function placeAfter(position: string): string {
  const { ms, n } = partsOf(position);
  return `${ms}-${n + 1n}`;
}

function partsOf(position: string): { ms: bigint; n: bigint } {
  const [ms = '0', n = '0'] = position.split('-');
  return { ms: BigInt(ms), n: BigInt(n) };
}
